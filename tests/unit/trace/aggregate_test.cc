#include "core/trace/aggregate.h"

#include <algorithm>

#include "core/trace/method_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

const Record kShortCall = CompleteCall(7, 1000, 10);

const Series* Whole(const AggregateSnapshot& snapshot) {
  for (const Series& series : snapshot) {
    if (series.key.whole) return &series;
  }
  return nullptr;
}

TEST(AggregateTest, ACallIsItsIntervalsAndTheWhole) {
  Aggregate aggregate;
  aggregate.Add(kShortCall);
  aggregate.Add(kShortCall);
  const AggregateSnapshot snapshot = aggregate.Snapshot();
  ASSERT_EQ(snapshot.size(), 12);
  uint64_t sum = 0;
  for (const Series& series : snapshot) {
    EXPECT_EQ(series.key.method, 7);
    EXPECT_EQ(series.histogram.Count(), 2);
    if (!series.key.whole) sum += series.histogram.Sum();
  }
  ASSERT_NE(Whole(snapshot), nullptr);
  EXPECT_EQ(Whole(snapshot)->histogram.Sum(), 220);
  EXPECT_EQ(sum, 220);
}

TEST(AggregateTest, WhatIsTheWholeDependsOnWhoseRecordItIs) {
  struct Case {
    RecordKind kind;
    Side side;
    uint64_t ns;
  };
  for (const Case& each : {Case{RecordKind::kCall, Side::kClient, 110}, Case{RecordKind::kCall, Side::kServer, 50},
                           Case{RecordKind::kMessage, Side::kServer, 40}}) {
    Aggregate aggregate;
    Record record = kShortCall;
    record.kind = each.kind;
    record.side = each.side;
    aggregate.Add(record);
    const AggregateSnapshot snapshot = aggregate.Snapshot();
    ASSERT_NE(Whole(snapshot), nullptr);
    EXPECT_EQ(Whole(snapshot)->histogram.Max(), each.ns);
  }
}

TEST(AggregateTest, ACallThatFailedOnItsWayHasIntervalsButIsNoWhole) {
  Aggregate aggregate;
  Record record;
  At(record.times, Stage::kSubmitted) = 10;
  At(record.times, Stage::kQueued) = 20;
  aggregate.Add(record);
  const AggregateSnapshot snapshot = aggregate.Snapshot();
  EXPECT_EQ(snapshot.size(), 1);
  EXPECT_EQ(Whole(snapshot), nullptr);
}

TEST(AggregateTest, PathsSidesMethodsAndKindsAreKeptApartInOrder) {
  Aggregate aggregate;
  for (int i = 15; i >= 0; --i) {
    Record record;
    record.kind = static_cast<RecordKind>(i & 1);
    record.side = static_cast<Side>(i >> 1 & 1);
    record.path = static_cast<Path>(i >> 2 & 1);
    record.method = 2 + static_cast<uint32_t>(i >> 3);
    At(record.times, Stage::kPosted) = 1;
    At(record.times, Stage::kArrived) = 2;
    aggregate.Add(record);
  }
  const AggregateSnapshot snapshot = aggregate.Snapshot();
  EXPECT_EQ(snapshot.size(), 16);
  EXPECT_TRUE(
      std::is_sorted(snapshot.begin(), snapshot.end(), [](const Series& a, const Series& b) { return a.key < b.key; }));
}

TEST(AggregateTest, ManyMethodsShareARowWhenThereIsNoSpace) {
  Aggregate aggregate;
  Record record = kShortCall;
  constexpr uint32_t kMethods = 1000;
  for (record.method = 2; record.method < 2 + kMethods; ++record.method) aggregate.Add(record);
  uint64_t calls = 0;
  uint64_t others = 0;
  const AggregateSnapshot snapshot = aggregate.Snapshot();
  for (const Series& series : snapshot) {
    if (!series.key.whole) continue;
    calls += series.histogram.Count();
    if (series.key.method == kOtherMethods) others += series.histogram.Count();
  }
  EXPECT_EQ(calls, kMethods);
  EXPECT_GT(others, kMethods / 2);
  EXPECT_LE(snapshot.size(), Aggregate::kMostSeries + 12);
}

TEST(AggregateTest, TheLargestClockErrorIsKept) {
  Aggregate aggregate;
  for (const int64_t error : {3, 800, 20}) {
    Record record = kShortCall;
    record.clock_error_ns = error;
    aggregate.Add(record);
  }
  const AggregateSnapshot snapshot = aggregate.Snapshot();
  ASSERT_NE(Whole(snapshot), nullptr);
  EXPECT_EQ(Whole(snapshot)->clock_error_ns, 800);
}

TEST(AggregateTest, PersistingIsASeriesBesideTheOthers) {
  Aggregate aggregate;
  Record record = kShortCall;
  At(record.times, Stage::kPersisted) = 1060;
  aggregate.Add(record);
  const AggregateSnapshot snapshot = aggregate.Snapshot();
  EXPECT_EQ(snapshot.size(), 13);
  EXPECT_EQ(Whole(snapshot)->histogram.Max(), 110);
}

TEST(AggregateTest, ClearedItIsEmpty) {
  Aggregate aggregate;
  aggregate.Add(kShortCall);
  aggregate.Clear();
  EXPECT_TRUE(aggregate.Snapshot().empty());
}

}  // namespace
}  // namespace skein::trace
