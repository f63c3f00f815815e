// Who may spin beside programs that want the processors: by a clock that the test sets.
#include "core/progress/contention.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace skein::progress {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class ContentionTest : public ::testing::Test {
 protected:
  // A spin that yields `yields` times and is away from its processor for `absence` each time. False: it may not begin.
  bool SpinWith(Clock::duration absence, int yields = 1, int turns = 0) {
    if (!contention_.MaySpin(now_)) return false;
    for (int i = 0; i < yields; ++i) {
      now_ += absence;
      contention_.Yielded();
      contention_.Away(absence, now_, turns);
    }
    contention_.SpinEnded(now_);
    return true;
  }
  // When the next spin may begin.
  Clock::duration TimeToNextSpin() {
    const Deadline begin = now_;
    while (!contention_.MaySpin(now_)) now_ += milliseconds(1);
    contention_.SpinEnded(now_);
    return now_ - begin;
  }
  // Whether any number of threads may.
  bool IsFree() {
    const bool is_free = contention_.MaySpin(now_) && contention_.MaySpin(now_);
    contention_.SpinEnded(now_);
    return is_free;
  }

  static constexpr milliseconds kSlice{4};  // of a program that computes
  static constexpr microseconds kShort{20};

  Deadline now_{std::chrono::hours(1)};
  Contention contention_;
};

TEST_F(ContentionTest, ThreadsSpinFreelyWhileAbsencesAreShort) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(SpinWith(kShort)) << i;
  EXPECT_TRUE(IsFree());
}

TEST_F(ContentionTest, AfterOneLongAbsenceNobodySpinsForAWhile) {
  ASSERT_TRUE(SpinWith(kSlice));
  EXPECT_FALSE(contention_.MaySpin(now_));
  EXPECT_EQ(TimeToNextSpin(), Contention::kFirstRest);
}

TEST_F(ContentionTest, RestsGrowWhileProbesFailUpToALimit) {
  std::vector<Clock::duration> rests;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(SpinWith(kSlice));
    rests.push_back(TimeToNextSpin());
  }
  EXPECT_EQ(rests.front(), Contention::kFirstRest);
  EXPECT_EQ(rests.back(), Contention::kLongestRest);
  EXPECT_TRUE(std::is_sorted(rests.begin(), rests.end()));
}

TEST_F(ContentionTest, BesideAProgramThatComputesForeverProbesTakeLessThanAHundredthOfTheTime) {
  Clock::duration probing{};
  const Deadline begin = now_;
  while (now_ - begin < std::chrono::minutes(1)) {
    // Most yields of a probe are short.
    if (SpinWith(kShort, 10)) {
      SpinWith(kSlice);
      probing += kSlice;
    }
    now_ += milliseconds(1);
  }
  EXPECT_LT(probing * 100, now_ - begin);
}

TEST_F(ContentionTest, AFewShortYieldsProveNothing) {
  ASSERT_TRUE(SpinWith(kSlice));
  now_ += Contention::kFirstRest;
  ASSERT_TRUE(SpinWith(kShort, Contention::kEnough - 1));
  EXPECT_FALSE(IsFree());
  ASSERT_TRUE(SpinWith(kSlice));
  EXPECT_FALSE(contention_.MaySpin(now_));
}

TEST_F(ContentionTest, WhenTheProgramHasEndedAllSpinAgainAfterOneProbe) {
  for (int i = 0; i < 8; ++i) {
    SpinWith(kSlice);
    TimeToNextSpin();
  }
  for (int i = 0; i < Contention::kEnough / 10; ++i) ASSERT_TRUE(SpinWith(kShort, 10));
  EXPECT_TRUE(IsFree());
}

TEST_F(ContentionTest, LongAfterItThereIsAFirstRestAgain) {
  for (int i = 0; i < 8; ++i) {
    SpinWith(kSlice);
    TimeToNextSpin();
  }
  ASSERT_TRUE(SpinWith(kShort, Contention::kEnough));
  now_ += Contention::kGrowth * Contention::kLongestRest;
  ASSERT_TRUE(SpinWith(kSlice));
  EXPECT_EQ(TimeToNextSpin(), Contention::kFirstRest);
}

TEST_F(ContentionTest, AfterARestOneThreadAtATimeProbes) {
  ASSERT_TRUE(SpinWith(kSlice));
  now_ += Contention::kFirstRest;
  EXPECT_TRUE(contention_.MaySpin(now_));
  EXPECT_FALSE(contention_.MaySpin(now_));
  contention_.SpinEnded(now_);
  EXPECT_TRUE(contention_.MaySpin(now_)) << "the first has ended its spin";
  EXPECT_FALSE(contention_.MaySpin(now_ + Contention::kProbe - microseconds(1)));
  EXPECT_TRUE(contention_.MaySpin(now_ + Contention::kProbe)) << "the kernel keeps the second from its processor";
}

TEST_F(ContentionTest, TheSameAbsenceToldOfByManyThreadsCountsOnce) {
  for (int i = 0; i < 16; ++i) contention_.Away(kSlice, now_ + microseconds(i), 0);
  EXPECT_EQ(TimeToNextSpin(), Contention::kFirstRest);
}

TEST_F(ContentionTest, AmongManySpinnersATurnTakesLonger) {
  ASSERT_TRUE(SpinWith(milliseconds(2), 1, /*turns=*/64));
  EXPECT_TRUE(IsFree());
  ASSERT_TRUE(SpinWith(milliseconds(2), 1, /*turns=*/8));
  EXPECT_FALSE(contention_.MaySpin(now_));
}

}  // namespace
}  // namespace skein::progress
