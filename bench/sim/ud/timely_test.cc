#include "bench/sim/ud/timely.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

using absl::Microseconds;

constexpr double kLink = 12.5e9;

class TimelyTest : public ::testing::Test {
 protected:
  // The next sample, a round trip time after the last one.
  void Sample(absl::Duration round_trip) {
    now_ += round_trip;
    timely_.Update(now_, round_trip);
  }

  absl::Time now_ = absl::UnixEpoch();
  Timely timely_{kLink, now_};
};

TEST_F(TimelyTest, ASessionBeginsAtTheLinksRateAndBypassesShortRoundTrips) {
  EXPECT_TRUE(timely_.uncongested());
  EXPECT_TRUE(timely_.Bypasses(Microseconds(50)));
  EXPECT_FALSE(timely_.Bypasses(Microseconds(51)));
}

TEST_F(TimelyTest, RoundTripsThatGrowLowerTheRate) {
  Sample(Microseconds(60));
  EXPECT_LT(timely_.rate(), kLink);
  EXPECT_FALSE(timely_.Bypasses(Microseconds(10)));
}

TEST_F(TimelyTest, OneSampleNeverMoreThanHalvesTheRate) {
  Sample(Microseconds(900));
  EXPECT_EQ(timely_.rate(), kLink / 2);
}

TEST_F(TimelyTest, TheRateStaysAboveItsMinimum) {
  for (int i = 0; i < 100; ++i) Sample(Microseconds(900 + 10 * i));
  EXPECT_EQ(timely_.rate(), Timely::kMinRate);
}

TEST_F(TimelyTest, ShortRoundTripsRaiseTheRateByItsStep) {
  Sample(Microseconds(900));
  const double before = timely_.rate();
  Sample(Microseconds(20));
  EXPECT_EQ(timely_.rate(), before + Timely::kAddRate);
}

TEST_F(TimelyTest, SamplesInOneRoundTripAreWorthAPartOfAStep) {
  Sample(Microseconds(900));
  const double before = timely_.rate();
  now_ += Microseconds(1);
  timely_.Update(now_, Microseconds(20));
  EXPECT_DOUBLE_EQ(timely_.rate(), before + Timely::kAddRate / 2);
}

TEST_F(TimelyTest, RoundTripsThatFallLongEnoughRaiseTheRateFiveTimesAsFast) {
  Sample(Microseconds(900));
  double before = 0;
  for (int i = 1; i <= 30; ++i) {  // until the average falls, too
    before = timely_.rate();
    Sample(Microseconds(900 - 10 * i));
  }
  EXPECT_DOUBLE_EQ(timely_.rate(), before + 5 * Timely::kAddRate);
}

TEST_F(TimelyTest, BeyondTheHighThresholdTheRateFallsThoughRoundTripsDo) {
  for (int i = 0; i < 20; ++i) Sample(Microseconds(2000));
  for (int i = 0; i < 20; ++i) Sample(Microseconds(2000 - i));
  const double before = timely_.rate();
  Sample(Microseconds(1900));
  EXPECT_LE(timely_.rate(), before);
}

TEST_F(TimelyTest, ASampleThatCannotBeIsPassedBy) {
  Sample(Microseconds(1));
  EXPECT_TRUE(timely_.uncongested());
}

}  // namespace
}  // namespace skein::bench
