// Whether a process spins or sleeps beside others that want the processors: by a clock and a flow of bytes that the
// test sets.
#include "core/wait/contention.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace skein::wait {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::atomic<uint64_t> arrived = 0;

class ContentionTest : public ::testing::Test {
 protected:
  // A process beside others. While it spins, its threads are away from their processor for `absence` every 4 ms.
  struct World {
    Clock::duration absence;
    int spinning;  // bytes that arrive in a millisecond
    int sleeping;
  };
  static constexpr World kIdleMachine{microseconds(20), 1000, 250};
  static constexpr World kBusyKin{milliseconds(3), 1000, 400};  // the process's own threads, and the peer's
  static constexpr World kBesideLoops{milliseconds(3), 300, 450};

  // A thread looks each millisecond. Returns how long it could spin.
  Clock::duration Live(Clock::duration time, const World& world) {
    Clock::duration spun{};
    for (const Deadline end = now_ + time; now_ < end; now_ += milliseconds(1)) {
      const bool spins = contention_.MaySpin(now_);
      arrived += static_cast<uint64_t>(spins ? world.spinning : world.sleeping);
      if (!spins) continue;
      spun += milliseconds(1);
      if (now_.time_since_epoch() % milliseconds(4) == milliseconds(0)) contention_.Away(world.absence, now_);
    }
    return spun;
  }
  // For which time the process then goes on as it is, of `most`.
  Clock::duration UntilItChanges(const World& world, Clock::duration most = std::chrono::minutes(1)) {
    const Deadline begin = now_;
    const bool spins = contention_.MaySpin(now_);
    while (contention_.MaySpin(now_) == spins && now_ - begin < most) Live(milliseconds(1), world);
    return now_ - begin;
  }

  static constexpr Clock::duration kTrials = 2 * Contention::kTrial + milliseconds(4);

  Deadline now_{std::chrono::hours(1)};
  Contention contention_{[] { return arrived.load(); }};
};

TEST_F(ContentionTest, WhileAbsencesAreShortAProcessSpinsAndLooksAtNoClock) {
  EXPECT_EQ(Live(std::chrono::seconds(10), kIdleMachine), std::chrono::seconds(10));
  EXPECT_TRUE(contention_.spins_freely());
}

TEST_F(ContentionTest, BesideProgramsThatComputeAProcessSleeps) {
  Live(kTrials, kBesideLoops);
  EXPECT_FALSE(contention_.MaySpin(now_));
  contention_.Away(milliseconds(30), now_);
  const auto time = std::chrono::minutes(1);
  EXPECT_LT(Live(time, kBesideLoops) * 50, time) << "and tries to spin for less than a fiftieth of its time";
}

TEST_F(ContentionTest, BesideItsOwnBusyThreadsAProcessSpins) {
  Live(kTrials, kBusyKin);
  EXPECT_TRUE(contention_.spins_freely());
  const auto time = std::chrono::minutes(1);
  EXPECT_LT((time - Live(time, kBusyKin)) * 50, time) << "and tries to sleep for less than a fiftieth of its time";
}

TEST_F(ContentionTest, WhereNeitherBringsMoreTheProcessSleeps) {
  Live(kTrials, {milliseconds(3), 10, 10});
  EXPECT_FALSE(contention_.MaySpin(now_));
  Live(std::chrono::seconds(10), {milliseconds(3), 0, 0});
  EXPECT_FALSE(contention_.spins_freely());
}

TEST_F(ContentionTest, OneAbsenceByChanceCostsNoSleep) {
  contention_.Away(milliseconds(3), now_);
  EXPECT_FALSE(contention_.spins_freely()) << "the process tries to spin";
  EXPECT_EQ(Live(std::chrono::seconds(10), kIdleMachine), std::chrono::seconds(10));
  EXPECT_TRUE(contention_.spins_freely());
}

TEST_F(ContentionTest, WhenTheProgramsHaveEndedTheProcessSpinsAfterItsRest) {
  Live(std::chrono::minutes(1), kBesideLoops);
  EXPECT_LE(UntilItChanges(kIdleMachine), Contention::kLongestHold + Contention::kTrial);
  EXPECT_EQ(Live(std::chrono::seconds(10), kIdleMachine), std::chrono::seconds(10));
}

TEST_F(ContentionTest, WhenProgramsBeginToComputeTheProcessSleepsSoon) {
  Live(std::chrono::minutes(1), kBusyKin);
  const Clock::duration spun = Live(std::chrono::seconds(20), kBesideLoops);
  EXPECT_LT(spun, Contention::kLongestHold + milliseconds(500));
}

TEST_F(ContentionTest, AChoiceThatIsConfirmedHoldsForLonger) {
  std::vector<Clock::duration> rests;
  for (int i = 0; i < 6; ++i) {
    while (contention_.MaySpin(now_)) Live(milliseconds(1), kBesideLoops);
    rests.push_back(UntilItChanges(kBesideLoops));
  }
  EXPECT_EQ(rests.front(), Contention::kTrial + Contention::kFirstHold);
  EXPECT_EQ(rests.back(), Contention::kTrial + Contention::kLongestHold);
  EXPECT_TRUE(std::is_sorted(rests.begin(), rests.end()));
}

TEST_F(ContentionTest, LongAfterTheLastTrialTheProcessJudgesAfresh) {
  Live(std::chrono::minutes(1), kBusyKin);
  Live(std::chrono::hours(1), kIdleMachine);
  Live(kTrials, kBesideLoops);
  EXPECT_FALSE(contention_.MaySpin(now_));
  EXPECT_LE(UntilItChanges(kBesideLoops), Contention::kFirstHold);
}

TEST_F(ContentionTest, AnAbsenceOfAMillisecondIsLong) {
  contention_.Away(Contention::kLongAbsence - microseconds(1), now_);
  EXPECT_TRUE(contention_.spins_freely());
  contention_.Away(Contention::kLongAbsence, now_);
  EXPECT_FALSE(contention_.spins_freely());
}

TEST_F(ContentionTest, ALongAbsenceDuringATrialMakesTheTrialLonger) {
  contention_.Away(milliseconds(3), now_);
  contention_.Away(milliseconds(70), now_);
  contention_.Away(milliseconds(3), now_);
  EXPECT_EQ(UntilItChanges({microseconds(20), 10, 10}), Contention::kAbsences * milliseconds(70));
}

TEST_F(ContentionTest, WhereNoByteArrivesTheLastChoiceStands) {
  contention_.Away(milliseconds(3), now_);
  Live(2 * kTrials, {milliseconds(3), 0, 0});
  EXPECT_TRUE(contention_.spins_freely());
  Live(Contention::kLongestHold, kBesideLoops);
  while (contention_.MaySpin(now_)) Live(milliseconds(1), kBesideLoops);
  Live(std::chrono::minutes(1), {milliseconds(3), 0, 0});
  EXPECT_FALSE(contention_.spins_freely());
}

// A cgroup runs for a part of each 100 ms. What it moves in that time depends on how it waits.
class ContentionQuotaTest : public ContentionTest, public ::testing::WithParamInterface<milliseconds> {
 protected:
  // Returns the share of its running time in which the process spins.
  double LiveInGroup(Clock::duration time, int spinning, int sleeping) {
    Clock::duration spun{};
    bool spins = false;
    for (const Deadline end = now_ + time; now_ < end; now_ += milliseconds(1)) {
      const auto in_period = now_.time_since_epoch() % kPeriod;
      if (in_period >= GetParam()) continue;
      if (spins && in_period == milliseconds(0)) contention_.Away(kPeriod - GetParam(), now_);
      spins = contention_.MaySpin(now_);
      arrived += static_cast<uint64_t>(spins ? spinning : sleeping);
      if (spins) spun += milliseconds(1);
    }
    return std::chrono::duration<double>(spun) / (std::chrono::duration<double>(GetParam()) * (time / kPeriod));
  }
  static constexpr milliseconds kPeriod{100};
};

TEST_P(ContentionQuotaTest, ATrialCoversWholePeriods) {
  const auto time = std::chrono::minutes(1);
  EXPECT_GT(LiveInGroup(time, 1000, 700), 0.7) << "spinning moves more";
  LiveInGroup(std::chrono::seconds(10), 700, 1000);
  EXPECT_LT(LiveInGroup(time, 700, 1000), 0.3) << "sleeping moves more";
}

INSTANTIATE_TEST_SUITE_P(RunningTimes, ContentionQuotaTest,
                         ::testing::Values(milliseconds(10), milliseconds(30), milliseconds(78), milliseconds(85)),
                         [](const auto& tested) { return std::to_string(tested.param.count()) + "_of_100_ms"; });

TEST_F(ContentionTest, APauseOfAMinuteMakesNoTrialLong) {
  contention_.Away(std::chrono::minutes(1), now_);
  contention_.Away(std::chrono::minutes(1), now_);
  Live(2 * Contention::kLongestTrial + milliseconds(10), kBusyKin);
  EXPECT_TRUE(contention_.spins_freely());
}

TEST_F(ContentionTest, ATrialThatNobodyEndedMakesTheNextNoLonger) {
  contention_.Away(milliseconds(3), now_);
  contention_.Away(milliseconds(3), now_);
  now_ += std::chrono::hours(1);
  EXPECT_FALSE(contention_.MaySpin(now_)) << "the process tries to sleep";
  EXPECT_LE(UntilItChanges(kBusyKin), Contention::kPeriod * (1 + Contention::kGrowth));
}

TEST_F(ContentionTest, AnyNumberOfThreadsMayAskAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, now = now_]() mutable {
      for (int step = 0; step < 20'000; ++step, now += microseconds(500)) {
        contention_.MaySpin(now) ? contention_.Away(milliseconds(3), now) : void(++arrived);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(contention_.spins_freely()) << "no byte has arrived while the process spun";
}

}  // namespace
}  // namespace skein::wait
