#include "core/trace/clock_offset.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::trace {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMillisecond;

// The peer's clock: set otherwise, and faster or slower than mine by some ppm.
struct PeerClock {
  int64_t ahead;
  double drift_ppm;

  int64_t OffsetAt(uint64_t mine) const {
    return ahead + static_cast<int64_t>(std::llround(static_cast<double>(mine) * drift_ppm / 1e6));
  }
  uint64_t At(uint64_t mine) const { return static_cast<uint64_t>(static_cast<int64_t>(mine) + OffsetAt(mine)); }
};

// A message there and back that begins at `sent`; the ways take what they like.
ClockSample Exchange(const PeerClock& peer, uint64_t sent, uint64_t there, uint64_t held, uint64_t back) {
  return {sent, peer.At(sent + there), peer.At(sent + there + held), sent + there + held + back};
}

void ExpectTrue(const ClockOffset& offset, const PeerClock& peer, uint64_t now) {
  const std::optional<ClockEstimate> estimate = offset.EstimateAt(now);
  ASSERT_TRUE(estimate.has_value());
  EXPECT_LE(std::abs(estimate->offset_ns - peer.OffsetAt(now)), estimate->error_ns);
}

TEST(ClockOffsetTest, TheTrueOffsetIsWithinTheErrorWhateverTheWaysAndTheDrift) {
  ForEachSeed([](std::mt19937_64& random) {
    const PeerClock peer{static_cast<int64_t>(Draw(random, 2'000'000 * kSecond)),
                         static_cast<double>(Draw(random, 96)) - 48};
    ClockOffset offset;
    uint64_t now = kSecond + Draw(random, 1'000'000 * kSecond);
    for (int i = 0; i < 200; ++i) {
      now += Draw(random, 100 * kMillisecond);
      // Now and then one way has a queue.
      const uint64_t there = 1000 + Draw(random, Draw(random, 3) == 0 ? 50 * kMillisecond : 3000);
      const uint64_t back = 1000 + Draw(random, Draw(random, 3) == 0 ? 50 * kMillisecond : 3000);
      const ClockSample sample = Exchange(peer, now, there, Draw(random, kMillisecond), back);
      EXPECT_TRUE(offset.Add(sample));
      now = sample.returned;
      ExpectTrue(offset, peer, now);
      ExpectTrue(offset, peer, now + Draw(random, 100 * kSecond));
      ExpectTrue(offset, peer, now - Draw(random, kSecond));
    }
  });
}

TEST(ClockOffsetTest, TheQuickestOfTheLastCounts) {
  const PeerClock peer{5'000'000, 0};
  ClockOffset offset;
  offset.Add(Exchange(peer, kSecond, 1000, 0, 1000));
  for (uint64_t i = 1; i < ClockOffset::kWindow; ++i) {
    offset.Add(Exchange(peer, kSecond + i * kMillisecond, 200'000, 0, 100'000));
    EXPECT_LE(offset.EstimateAt(kSecond + i * kMillisecond)->error_ns, 3000);
  }
  const uint64_t later = kSecond + ClockOffset::kWindow * kMillisecond;
  offset.Add(Exchange(peer, later, 200'000, 0, 100'000));  // the quick one is no longer among them
  EXPECT_GT(offset.EstimateAt(later)->error_ns, 100'000);
  ExpectTrue(offset, peer, later);
}

TEST(ClockOffsetTest, TheErrorGrowsWithTimeByTheDrift) {
  ClockOffset offset;
  offset.Add(Exchange({77, 0}, kSecond, 1000, 0, 1000));
  const int64_t now = offset.EstimateAt(kSecond)->error_ns;
  EXPECT_LE(now, 1100);
  EXPECT_NEAR(static_cast<double>(offset.EstimateAt(11 * kSecond)->error_ns - now), 500'000, 100);
}

TEST(ClockOffsetTest, NothingIsKnownBeforeTheFirst) { EXPECT_FALSE(ClockOffset().EstimateAt(kSecond).has_value()); }

TEST(ClockOffsetTest, AbsurdSamplesAreIgnored) {
  ClockOffset offset;
  const ClockSample samples[] = {
      {2000, 500, 500, 1000},                                    // back before it was sent
      {1000, 500, 400, 2000},                                    // answered before it came
      {1000, 500, 9'000'000, 2000},                              // held for longer than it was away
      {1000, UINT64_MAX - 1, UINT64_MAX, 2000},                  // of a clock nobody has
      {1000, ClockOffset::kMostNs, ClockOffset::kMostNs, 2000},  //
      {1000, 0, ClockOffset::kMostNs - 1, 2000},                 //
      {UINT64_MAX - 1, 500, 600, UINT64_MAX},                    //
  };
  for (const ClockSample& sample : samples) EXPECT_FALSE(offset.Add(sample)) << sample.received;
  EXPECT_FALSE(offset.EstimateAt(3000).has_value());
}

TEST(ClockOffsetTest, AnyNumbersFromAPeerAreSurvived) {
  ForEachSeed([](std::mt19937_64& random) {
    ClockOffset offset;
    for (int i = 0; i < 1000; ++i) {
      const uint64_t sent = Draw(random, ClockOffset::kMostNs);
      const uint64_t received = random() >> Draw(random, 63);
      offset.Add({sent, received, received + (random() >> Draw(random, 63)), sent + Draw(random, kSecond)});
      const std::optional<ClockEstimate> estimate = offset.EstimateAt(random() >> Draw(random, 63));
      if (estimate.has_value()) {
        EXPECT_GE(estimate->error_ns, 0);
        ToMyClock(random() >> Draw(random, 63), *estimate);
      }
    }
  });
}

TEST(ClockOffsetTest, AClockThatWasMovedIsBelievedAtOnce) {
  const PeerClock before{1'000'000, 0};
  const PeerClock after{900'000'000, 0};  // its host was suspended
  ClockOffset offset;
  for (uint64_t i = 0; i < 5; ++i) offset.Add(Exchange(before, kSecond + i * kMillisecond, 1000, 0, 1000));
  EXPECT_TRUE(offset.Add(Exchange(after, 2 * kSecond, 8000, 0, 9000)));
  ExpectTrue(offset, after, 2 * kSecond);
}

TEST(ClockOffsetTest, TimesOfThePeerBecomeMine) {
  EXPECT_EQ(ToMyClock(1500, {500, 3}), 1000);
  EXPECT_EQ(ToMyClock(1500, {-500, 3}), 2000);
  EXPECT_EQ(ToMyClock(0, {-500, 3}), 0) << "not known";
  EXPECT_EQ(ToMyClock(100, {500, 3}), 0) << "before this clock began";
  EXPECT_EQ(ToMyClock(UINT64_MAX, {-500, 3}), 0);
}

}  // namespace
}  // namespace skein::trace
