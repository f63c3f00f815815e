// When a spin goes on, gives its processor up, or is over: by a clock that the test sets.
#include "core/wait/spin.h"

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/time/time.h"
#include "core/trace/counters.h"
#include "core/wait/processors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::wait {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using Then = Pacer::Then;

constexpr absl::Duration kBudget = absl::Microseconds(50);
constexpr microseconds kAfter{2};

class SpinTest : public ::testing::Test {
 protected:
  Then After(Pacer& spin, Clock::duration time) {
    now_ += time;
    return spin.Next(now_);
  }
  void Yield(Pacer& spin, Clock::duration time) {
    now_ += time;
    spin.Yielded(now_);
  }

  Deadline now_{std::chrono::hours(1)};
};

TEST_F(SpinTest, YieldsNotAtOnceAndEndsWithItsBudget) {
  Pacer spin(kBudget, kAfter, now_);
  EXPECT_EQ(After(spin, microseconds(1)), Then::kGoOn);
  EXPECT_EQ(After(spin, microseconds(1)), Then::kYield);
  EXPECT_EQ(After(spin, microseconds(47)), Then::kYield);
  EXPECT_EQ(After(spin, microseconds(1)), Then::kOver);
}

TEST_F(SpinTest, WhatOthersDoMeanwhileCostsNothing) {
  Pacer spin(kBudget, kAfter, now_);
  ASSERT_EQ(After(spin, microseconds(2)), Then::kYield);
  for (int i = 0; i < 20; ++i) {
    Yield(spin, microseconds(500));  // counts as one
    ASSERT_EQ(After(spin, microseconds(1)), Then::kYield) << i;
  }
  EXPECT_EQ(After(spin, microseconds(8)), Then::kOver);
}

TEST_F(SpinTest, TellsHowLongOthersHadTheProcessor) {
  Pacer spin(kBudget, kAfter, now_);
  EXPECT_EQ(spin.given(), Clock::duration::zero());
  ASSERT_EQ(After(spin, microseconds(2)), Then::kYield);
  Yield(spin, microseconds(70));
  EXPECT_EQ(spin.given(), microseconds(70));
  Yield(spin, microseconds(1));
  EXPECT_EQ(spin.given(), microseconds(1));
}

TEST_F(SpinTest, AYieldToNobodyCostsWhatItTakes) {
  Pacer spin(absl::Microseconds(3), kAfter, now_);
  ASSERT_EQ(After(spin, microseconds(2)), Then::kYield);
  Yield(spin, std::chrono::nanoseconds(300));
  EXPECT_EQ(After(spin, std::chrono::nanoseconds(699)), Then::kYield);
  EXPECT_EQ(After(spin, std::chrono::nanoseconds(1)), Then::kOver);
}

TEST_F(SpinTest, WithoutALimitItIsNeverOver) {
  Pacer spin(absl::InfiniteDuration(), kAfter, now_);
  EXPECT_EQ(After(spin, std::chrono::hours(1)), Then::kYield);
  Pacer none(absl::ZeroDuration(), kAfter, now_);
  EXPECT_EQ(After(none, microseconds(0)), Then::kOver);
}

TEST_F(SpinTest, IsDisturbedByWhoTakesItsProcessorButNotByWhomItGivesIt) {
  Pacer quiet(kBudget, kAfter, now_);
  ASSERT_EQ(After(quiet, microseconds(3)), Then::kYield);
  Yield(quiet, milliseconds(4));
  now_ += microseconds(3);
  EXPECT_FALSE(quiet.Disturbed(now_));
  Pacer in_the_middle(absl::InfiniteDuration(), kAfter, now_);
  After(in_the_middle, Pacer::kTakenAway);
  After(in_the_middle, microseconds(1));
  EXPECT_TRUE(in_the_middle.Disturbed(now_));
  Pacer at_the_end(kBudget, kAfter, now_);
  now_ += Pacer::kTakenAway;
  EXPECT_TRUE(at_the_end.Disturbed(now_));
}

uint64_t SpinsHeardOf(trace::Counter counter) { return trace::ReadCounters().Value(counter, 0); }

// How a spin without a limit looks, and what its budget hears.
class UntilTest : public ::testing::Test {
 protected:
  uint64_t hits() const { return SpinsHeardOf(trace::Counter::kSpinsHit) - hits_before_; }
  uint64_t misses() const { return SpinsHeardOf(trace::Counter::kSpinsMissed) - misses_before_; }

  SpinBudget budget_{{WaitMode::kPoll, absl::ZeroDuration()}};
  const uint64_t hits_before_ = SpinsHeardOf(trace::Counter::kSpinsHit);
  const uint64_t misses_before_ = SpinsHeardOf(trace::Counter::kSpinsMissed);
  Spin spin_{budget_, absl::InfiniteDuration(), Manner::kPolls};
};

TEST_F(UntilTest, LooksThoroughlyAtFirstAndNowAndThen) {
  std::vector<int> thorough, seldom;
  int turn = -1;
  const auto found = [&](bool thoroughly) {
    ++turn;
    if (thoroughly) thorough.push_back(turn);
    return turn == 70;
  };
  const Spun spun = spin_.Until(found, [&] {
    seldom.push_back(turn);
    return Spun::kGoesOn;
  });
  EXPECT_EQ(spun, Spun::kFound);
  EXPECT_THAT(thorough, ElementsAre(0, 16, 32, 48, 64));
  EXPECT_THAT(seldom, ElementsAre(0, 32, 64));
  EXPECT_EQ(hits() + misses(), 1u);  // a miss, where the machine has taken the processor away
}

TEST_F(UntilTest, ItsEndInVainIsTold) {
  EXPECT_EQ(spin_.Until([](bool) { return false; }, [] { return Spun::kInVain; }), Spun::kInVain);
  EXPECT_EQ(hits(), 0u);
  EXPECT_EQ(misses(), 1u);
}

TEST_F(UntilTest, NothingIsToldOfOneThatIsCalledAway) {
  EXPECT_EQ(spin_.Until([](bool) { return false; }, [] { return Spun::kCalledAway; }), Spun::kCalledAway);
  EXPECT_EQ(hits() + misses(), 0u);
}

TEST(BeginSpinTest, OfTooManyThreadsNoMoreSpin) {
  SpinBudget budget({WaitMode::kHybrid, absl::Microseconds(50)});
  WaitingThreads threads;
  std::deque<WaitingThreads::One> waiting;
  for (int i = 0; i <= 4 * Processors(); ++i) waiting.emplace_back(threads);
  EXPECT_EQ(BeginSpin(budget, &threads), absl::ZeroDuration());
  SpinBudget sleepless({WaitMode::kPoll, absl::ZeroDuration()});
  EXPECT_EQ(BeginSpin(sleepless, &threads), absl::InfiniteDuration());
}

}  // namespace
}  // namespace skein::wait
