// A program is told where the time of its calls goes, at both ends.
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "absl/cleanup/cleanup.h"
#include "gmock/gmock.h"
#include "grpc_transport/skein.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/two_ends.h"

namespace skein::grpc_transport {
namespace {

using ::testing::Contains;

using TraceCallsTest = TwoEnds;

TEST_F(TraceCallsTest, EachEndTellsItsSideOfTheCall) {
  ASSERT_TRUE(Call("/test.Echo/Warm").ok());
  std::mutex mu;
  std::condition_variable both;
  std::map<bool, TracedCall> told;  // by whether it is the client's
  const absl::Cleanup none_later = [] { TraceCalls(0, nullptr).IgnoreError(); };
  ASSERT_TRUE(TraceCalls(1, [&](const TracedCall& call) {
                const std::lock_guard<std::mutex> lock(mu);
                told[call.client] = call;
                both.notify_one();
              }).ok());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(Call("/test.Echo/Call").ok());
  {
    // Each end is told when gRPC there has let go of the call.
    std::unique_lock<std::mutex> lock(mu);
    both.wait_for(lock, std::chrono::seconds(20), [&] { return told.size() == 2; });
  }
  const auto end = std::chrono::steady_clock::now();
  ASSERT_TRUE(TraceCalls(0, nullptr).ok());

  ASSERT_TRUE(told.contains(true) && !told[true].intervals.empty());
  EXPECT_EQ(told[true].method, "/test.Echo/Call");
  EXPECT_EQ(told[true].path, "shm");
  EXPECT_GE(told[true].bytes, 100);
  EXPECT_GE(told[true].begin, begin);
  const TracedInterval& last = told[true].intervals.back();
  EXPECT_LE(told[true].begin + last.begin + last.length, end);
  EXPECT_EQ(told[true].intervals.front().name, "framework, client");
  EXPECT_THAT(told[true].intervals, Contains(testing::Field(&TracedInterval::work, "wire")));
  EXPECT_EQ(last.name, "return");
  ASSERT_TRUE(told.contains(false));
  EXPECT_EQ(told[false].method, "/test.Echo/Call");
  EXPECT_THAT(told[false].intervals, Contains(testing::Field(&TracedInterval::name, "handler")));
}

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!skein::grpc_transport::Init().ok()) return 1;
  return RUN_ALL_TESTS();
}
