#include "core/trace/interval.h"

#include <algorithm>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::trace {
namespace {

constexpr size_t kLast = static_cast<size_t>(Stage::kReleased);

Interval Between(size_t from, size_t to) { return {static_cast<Stage>(from), static_cast<Stage>(to)}; }

TEST(IntervalTest, EveryPairOfStagesHasANameOfItsOwn) {
  std::set<std::string> names;
  for (size_t from = 0; from < kStages; ++from) {
    EXPECT_FALSE(StageName(static_cast<Stage>(from)).empty());
    for (size_t to = from + 1; to < kStages; ++to) {
      const std::string name = IntervalName(Between(from, to));
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
}

TEST(IntervalTest, NeighboursAreNamedByWhatIsDoneOthersByTheirEnds) {
  EXPECT_EQ(IntervalName({Stage::kQueued, Stage::kLed}), "combining");
  EXPECT_EQ(IntervalName({Stage::kReplyArrived, Stage::kDelivered}), "reply, delivery");
  EXPECT_EQ(IntervalName({Stage::kQueued, Stage::kPosted}), "queued to posted");
  EXPECT_EQ(IntervalName({Stage::kReleased, Stage::kPersisted}), "released to persisted");
}

TEST(IntervalTest, OverUnknownStagesTheWorkIsWhatAllOfThemAreOrMixed) {
  EXPECT_EQ(WorkOf({Stage::kQueued, Stage::kLed}), Work::kSoftware);
  EXPECT_EQ(WorkOf({Stage::kSubmitted, Stage::kPosted}), Work::kSoftware);
  EXPECT_EQ(WorkOf({Stage::kPosted, Stage::kArrived}), Work::kWire);
  EXPECT_EQ(WorkOf({Stage::kHandlerStart, Stage::kHandlerEnd}), Work::kHandler);
  EXPECT_EQ(WorkOf({Stage::kPosted, Stage::kDispatched}), Work::kMixed);
  EXPECT_EQ(WorkOf({Stage::kPosted, Stage::kReplyArrived}), Work::kMixed);
  EXPECT_EQ(WorkOf({Stage::kSubmitted, Stage::kPersisted}), Work::kMixed);
}

// No gaps, and the sum is what lies between the ends.
void ExpectToCover(const Intervals& intervals, uint64_t start, uint64_t end) {
  uint64_t at = start;
  for (const Lasted& each : intervals) {
    EXPECT_EQ(each.start_ns, at);
    EXPECT_LT(each.interval.from, each.interval.to);
    at += each.ns;
  }
  EXPECT_EQ(at, end);
}

TEST(IntervalTest, WhateverIsUnknownTheyAddUpFromSubmittedToReleased) {
  ForEachSeed([](std::mt19937_64& random) {
    StageTimes all;
    uint64_t now = 1 + Draw(random, 1'000'000);
    for (uint64_t& time : all) time = now += Draw(random, 1'000'000);
    for (size_t known = 0; known < size_t{1} << (kLast - 1); ++known) {  // each combination of those between
      StageTimes times = all;
      size_t unknown = 0;
      for (size_t stage = 1; stage < kLast; ++stage) {
        if ((known >> (stage - 1) & 1) != 0) continue;
        times[stage] = 0;
        ++unknown;
      }
      const Intervals intervals = IntervalsOf(times);
      ASSERT_EQ(intervals.size(), kLast - unknown);
      ExpectToCover(intervals, At(all, Stage::kSubmitted), At(all, Stage::kReleased));
    }
  });
}

TEST(IntervalTest, ConvertedTimesThatAreWrongMakeNoneNegativeAndChangeNoSum) {
  ForEachSeed([](std::mt19937_64& random) {
    StageTimes times;
    for (uint64_t& time : times) time = 1 + random();
    At(times, Stage::kSubmitted) = 1000;
    At(times, Stage::kDelivered) = At(times, Stage::kReleased) = 9000;
    ExpectToCover(IntervalsOf(times), 1000, 9000);
    At(times, Stage::kDelivered) = At(times, Stage::kReleased) = 10;
    ExpectToCover(IntervalsOf(times), 1000, 1000);
  });
}

TEST(IntervalTest, WhatThePeerSaysMovesNoTimeOfThisHosts) {
  ForEachSeed([](std::mt19937_64& random) {
    StageTimes times;
    for (uint64_t& time : times) time = 1 + Draw(random, 40'000);
    At(times, Stage::kSubmitted) = 1000;
    At(times, Stage::kDelivered) = 9000;
    At(times, Stage::kReleased) = 20'000;
    const Intervals intervals = IntervalsOf(times);
    ExpectToCover(intervals, 1000, 20'000);
    EXPECT_EQ(IntervalName(intervals.back().interval), "return");
    EXPECT_EQ(intervals.back().start_ns, 9000);
  });
}

TEST(IntervalTest, OneStageOrNoneIsNoInterval) {
  EXPECT_TRUE(IntervalsOf({}).empty());
  for (size_t stage = 0; stage < kStages; ++stage) {
    StageTimes times{};
    times[stage] = 5;
    EXPECT_TRUE(IntervalsOf(times).empty()) << stage;
    EXPECT_FALSE(PersistingOf(times).has_value()) << stage;
  }
}

TEST(IntervalTest, PersistingIsBesideTheOthers) {
  StageTimes times{};
  At(times, Stage::kQueued) = 100;
  At(times, Stage::kPersisted) = 130;
  At(times, Stage::kDelivered) = 190;
  ExpectToCover(IntervalsOf(times), 100, 190);
  const std::optional<Lasted> persisting = PersistingOf(times);
  ASSERT_TRUE(persisting.has_value());
  EXPECT_EQ(IntervalName(persisting->interval), "queued to persisted");
  EXPECT_EQ(persisting->start_ns, 100);
  EXPECT_EQ(persisting->ns, 30);
}

}  // namespace
}  // namespace skein::trace
