#include "core/trace/counters.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::trace {
namespace {

TEST(CountersTest, NamesAreThoseOfPrometheusAndDifferent) {
  std::set<absl::string_view> names;
  for (const CounterSpec& spec : kCounterTable) {
    EXPECT_THAT(std::string(spec.name), testing::MatchesRegex("skein_[a-z_]+"));
    EXPECT_EQ(absl::EndsWith(spec.name, "_total"), spec.type == CounterType::kCounter) << spec.name;
    EXPECT_TRUE(absl::EndsWith(spec.help, ".")) << spec.help;
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  }
}

// core/base has a new code: kReasons must name it.
TEST(CountersTest, EveryFallbackCodeIsAReasonOfItsOwn) {
  EXPECT_EQ(FallbackCodeName(static_cast<FallbackCode>(kReasons - 2)).find("unknown reason"), std::string::npos);
  EXPECT_NE(FallbackCodeName(static_cast<FallbackCode>(kReasons - 1)).find("unknown reason"), std::string::npos);
  std::set<std::string> values;
  for (size_t i = 0; i < kReasons; ++i) values.insert(LabelValue(CounterLabel::kReason, i));
  EXPECT_EQ(values.size(), kReasons);
}

TEST(CountersTest, EachCountsForItselfByItsLabel) {
  ClearCounters();
  Count(Counter::kBytesSent, Path::kShm, 100);
  Count(Counter::kBytesSent, Path::kTcp, 7);
  Count(Counter::kBytesReceived, Path::kShm, 3);
  Count(Counter::kWakeUps);
  CountFallback(FallbackCode::kDifferentUser);
  const CounterSnapshot snapshot = ReadCounters();
  EXPECT_EQ(snapshot.Value(Counter::kBytesSent, 0), 100);
  EXPECT_EQ(snapshot.Value(Counter::kBytesSent, 2), 7);
  EXPECT_EQ(snapshot.Value(Counter::kBytesReceived, 0), 3);
  EXPECT_EQ(snapshot.Value(Counter::kWakeUps), 1);
  EXPECT_EQ(snapshot.Value(Counter::kFallbacks, static_cast<size_t>(FallbackCode::kDifferentUser)), 1);
  uint64_t all = 0;
  for (const uint64_t value : snapshot.values) all += value;
  EXPECT_EQ(all, 112);
}

TEST(CountersTest, ACodeOfANewerPeersIsCountedAsUnknown) {
  ClearCounters();
  CountFallback(static_cast<FallbackCode>(200));
  CountFallback(static_cast<FallbackCode>(255));
  EXPECT_EQ(ReadCounters().Value(Counter::kFallbacks, kReasons - 1), 2);
}

TEST(CountersTest, NothingIsLostBetweenThreads) {
  ClearCounters();
  std::vector<std::thread> threads;
  threads.reserve(20);
  for (int thread = 0; thread < 20; ++thread) {  // more than there are shards
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) Count(Counter::kMessagesSent, Path::kRdma, 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadCounters().Value(Counter::kMessagesSent, static_cast<size_t>(Path::kRdma)), 40'000);
}

TEST(CountersTest, AGaugeGoesDownOnAnotherThreadThanUp) {
  ClearCounters();
  Change(Counter::kQueuePairsActive, 5);
  std::thread([] { Change(Counter::kQueuePairsActive, -3); }).join();
  EXPECT_EQ(ReadCounters().Value(Counter::kQueuePairsActive), 2);
}

}  // namespace
}  // namespace skein::trace
