#include "core/trace/histogram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::trace {
namespace {

// Of durations of all sizes alike.
uint64_t AnyDuration(std::mt19937_64& random) { return Draw(random, uint64_t{1} << (1 + Draw(random, 40))); }

void ExpectNear(uint64_t found, uint64_t expected) {
  EXPECT_LE(std::abs(static_cast<double>(found) - static_cast<double>(expected)), static_cast<double>(expected) / 64)
      << found << " for " << expected;
}

// The percentile of a histogram of this alone; and of one longer, since none is above the longest.
uint64_t AsKept(uint64_t ns) {
  Histogram histogram;
  histogram.Record(ns);
  histogram.Record(Histogram::kMost);
  return histogram.Percentile(50);
}

TEST(HistogramTest, ShortDurationsAreExactOthersToASixtyFourth) {
  for (uint64_t ns = 0; ns < 64; ++ns) EXPECT_EQ(AsKept(ns), ns);
  for (int bits = 6; bits < 42; ++bits) {  // where buckets change their width
    const uint64_t power = uint64_t{1} << bits;
    for (const uint64_t ns : {power - 1, power, power + 1, power + power / 32 - 1}) ExpectNear(AsKept(ns), ns);
  }
  ForEachSeed([](std::mt19937_64& random) {
    for (int i = 0; i < 1000; ++i) {
      const uint64_t ns = AnyDuration(random);
      ExpectNear(AsKept(ns), ns);
    }
  });
}

TEST(HistogramTest, PercentilesAreThoseOfTheSortedDurations) {
  ForEachSeed([](std::mt19937_64& random) {
    Histogram histogram;
    std::vector<uint64_t> sorted(1000);
    uint64_t sum = 0;
    for (uint64_t& ns : sorted) {
      histogram.Record(ns = AnyDuration(random));
      sum += ns;
    }
    std::sort(sorted.begin(), sorted.end());
    for (const double percent : {0.1, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      ExpectNear(histogram.Percentile(percent), sorted[static_cast<size_t>(std::lround(percent * 10)) - 1]);
    }
    EXPECT_EQ(histogram.Max(), sorted.back());
    EXPECT_EQ(histogram.Percentile(100), sorted.back());
    EXPECT_EQ(histogram.Count(), 1000);
    EXPECT_EQ(histogram.Sum(), sum);
  });
}

TEST(HistogramTest, NoPercentileIsAboveTheLongest) {
  Histogram histogram;
  for (int i = 0; i < 3; ++i) histogram.Record(1024);  // whose bucket reaches to 1055
  for (const double percent : {-1.0, 0.0, 50.0, 100.0, 200.0}) EXPECT_EQ(histogram.Percentile(percent), 1024);
}

TEST(HistogramTest, WhatIsTooLongCountsAsTheLongest) {
  Histogram histogram;
  histogram.Record(UINT64_MAX);
  histogram.Record(Histogram::kMost + 1);
  EXPECT_EQ(histogram.Count(), 2);
  EXPECT_EQ(histogram.Max(), Histogram::kMost);
  EXPECT_EQ(histogram.Sum(), 2 * Histogram::kMost);
  EXPECT_GT(Histogram::kMost, uint64_t{3600} * 1'000'000'000);
}

TEST(HistogramTest, MergedIsAsIfAllHadBeenInOne) {
  ForEachSeed([](std::mt19937_64& random) {
    Histogram all;
    Histogram parts[2];
    for (int i = 0; i < 300; ++i) {
      const uint64_t ns = AnyDuration(random);
      all.Record(ns);
      parts[Draw(random, 1)].Record(ns);
    }
    parts[0].Merge(parts[1]);
    EXPECT_EQ(parts[0].Count(), all.Count());
    EXPECT_EQ(parts[0].Sum(), all.Sum());
    EXPECT_EQ(parts[0].Max(), all.Max());
    for (int percent = 0; percent <= 100; ++percent) {
      EXPECT_EQ(parts[0].Percentile(percent), all.Percentile(percent)) << percent;
    }
  });
}

TEST(HistogramTest, TheSumSaturates) {
  Histogram histogram;
  histogram.Record(Histogram::kMost);
  for (int i = 0; i < 30; ++i) histogram.Merge(Histogram(histogram));
  EXPECT_EQ(histogram.Count(), uint64_t{1} << 30);
  EXPECT_EQ(histogram.Sum(), UINT64_MAX);
}

TEST(HistogramTest, EmptyIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Count(), 0);
  EXPECT_EQ(histogram.Max(), 0);
  EXPECT_EQ(histogram.Percentile(99), 0);
}

}  // namespace
}  // namespace skein::trace
