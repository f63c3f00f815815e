#include "bench/durable/ycsb.h"

#include <functional>
#include <map>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace skein::bench::durable {
namespace {

constexpr uint32_t kRecords = 1000;
constexpr int kDraws = 20000;

Ycsb Of(absl::string_view name) { return {*YcsbMixOf(name), kRecords, 0.99}; }

std::map<YcsbKind, double> PercentOf(absl::string_view name) {
  Ycsb ycsb = Of(name);
  fabric::sim::Random random(1);
  std::map<YcsbKind, double> percent;
  for (int i = 0; i < kDraws; ++i) percent[ycsb.Next(random).kind] += 100.0 / kDraws;
  return percent;
}

TEST(YcsbTest, OperationsComeInTheirParts) {
  const std::map<std::string, std::map<YcsbKind, double>> rows = {
      {"A", {{YcsbKind::kRead, 50}, {YcsbKind::kUpdate, 50}}},
      {"B", {{YcsbKind::kRead, 95}, {YcsbKind::kUpdate, 5}}},
      {"C", {{YcsbKind::kRead, 100}}},
      {"D", {{YcsbKind::kRead, 95}, {YcsbKind::kInsert, 5}}},
      {"E", {{YcsbKind::kScan, 95}, {YcsbKind::kInsert, 5}}},
      {"F", {{YcsbKind::kRead, 50}, {YcsbKind::kReadModifyWrite, 50}}},
  };
  for (const auto& [name, wanted] : rows) {
    const std::map<YcsbKind, double> found = PercentOf(name);
    ASSERT_EQ(found.size(), wanted.size()) << name;
    for (const auto& [kind, percent] : wanted) EXPECT_NEAR(found.at(kind), percent, 1.5) << name;
  }
  EXPECT_EQ(YcsbMixOf("G"), nullptr);
}

TEST(YcsbTest, PopularRecordsLieAllOverTheKeys) {
  Ycsb ycsb = Of("C");
  fabric::sim::Random random(1);
  std::map<uint32_t, int> asked;
  for (int i = 0; i < kDraws; ++i) ++asked[ycsb.Next(random).record];
  std::multimap<int, uint32_t, std::greater<>> by_count;
  for (const auto& [record, count] : asked) by_count.emplace(count, record);
  // 1 / (1 + 1/2^0.99 + ...) of 1,000.
  EXPECT_NEAR(by_count.begin()->first, 0.13 * kDraws, 0.02 * kDraws);
  std::set<uint32_t> tenths;
  auto popular = by_count.begin();
  for (int i = 0; i < 20; ++i, ++popular) tenths.insert(popular->second / (kRecords / 10));
  EXPECT_GT(tenths.size(), 5u);
  EXPECT_LT(asked.rbegin()->first, kRecords);
}

TEST(YcsbTest, TheLatestRecordsArePopularWhereOthersAreInserted) {
  Ycsb ycsb = Of("D");
  fabric::sim::Random random(1);
  int near = 0;
  int reads = 0;
  uint32_t newest = kRecords - 1;
  for (int i = 0; i < kDraws; ++i) {
    const YcsbOperation operation = ycsb.Next(random);
    if (operation.kind == YcsbKind::kInsert) {
      EXPECT_EQ(operation.record, ++newest);
    } else {
      ++reads;
      ASSERT_LE(operation.record, newest);
      near += newest - operation.record < 10 ? 1 : 0;
    }
  }
  EXPECT_GT(near, reads / 3);
  EXPECT_EQ(ycsb.records(), newest + 1);
}

TEST(YcsbTest, ScansStayWithinTheRecords) {
  Ycsb ycsb = Of("E");
  fabric::sim::Random random(1);
  std::set<uint32_t> lengths;
  for (int i = 0; i < kDraws; ++i) {
    const YcsbOperation operation = ycsb.Next(random);
    ASSERT_LE(operation.record + operation.count, ycsb.records());
    if (operation.kind == YcsbKind::kScan) lengths.insert(operation.count);
  }
  EXPECT_EQ(lengths.size(), Ycsb::kLongestScan);
}

YcsbWorkload WorkloadOf(absl::string_view name, size_t ahead) {
  return {Of(name), 4096, ahead, absl::Nanoseconds(150), absl::Nanoseconds(60)};
}

TEST(YcsbWorkloadTest, AReadModifyWriteReadsFirst) {
  YcsbWorkload workload = WorkloadOf("F", 1);
  fabric::sim::Random random(1);
  for (int found = 0; found < 100;) {
    const Step read = *workload.Next(random);
    EXPECT_EQ(read.requests[0].is_write, 0u);
    if (read.ends) continue;
    const Step write = *workload.Next(random);
    EXPECT_EQ(write.requests[0].is_write, 1u);
    EXPECT_EQ(write.requests[0].object, read.requests[0].object);
    EXPECT_EQ(write.requests[0].object_bytes, 4096u);
    EXPECT_TRUE(write.waits && write.ends);
    ++found;
  }
}

TEST(YcsbWorkloadTest, AScanReadsOneRecordAfterTheOther) {
  for (const size_t ahead : {1, 10}) {
    YcsbWorkload workload = WorkloadOf("E", ahead);
    fabric::sim::Random random(1);
    for (int i = 0; i < 1000; ++i) {
      Step step = *workload.Next(random);
      EXPECT_TRUE(step.waits);
      for (uint32_t next = step.requests[0].object; !step.ends;) {
        step = *workload.Next(random);
        EXPECT_EQ(step.requests[0].object, ++next);
        EXPECT_EQ(step.waits, ahead == 1);
      }
    }
  }
}

}  // namespace
}  // namespace skein::bench::durable
