// A program is told where the time of its calls goes, at both ends.
#include <skein/grpc.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/two_ends.h"

namespace skein::grpc_transport {
namespace {

using ::testing::Contains;

using TraceCallsTest = TwoEnds;

constexpr std::chrono::seconds kPatience(20);

// Whether it knows when the request came to the server.
bool HasWire(const TracedCall& call) {
  return std::any_of(call.intervals.begin(), call.intervals.end(),
                     [](const TracedInterval& interval) { return interval.work == "wire"; });
}

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
  // Each end is told when gRPC there has let go of the call. A server of current gRPC tells its times a moment later.
  const auto whole = [&] { return told.size() == 2 && HasWire(told[true]); };
  for (std::unique_lock<std::mutex> lock(mu); !whole() && std::chrono::steady_clock::now() < begin + kPatience;) {
    lock.unlock();
    ASSERT_TRUE(Call("/test.Echo/Call").ok());
    lock.lock();
    both.wait_for(lock, std::chrono::milliseconds(50), whole);
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
  EXPECT_TRUE(HasWire(told[true]));
  EXPECT_EQ(last.name, "return");
  ASSERT_TRUE(told.contains(false));
  EXPECT_EQ(told[false].method, "/test.Echo/Call");
  EXPECT_THAT(told[false].intervals, Contains(testing::Field(&TracedInterval::name, "handler")));
}

// Its handlers would see what a traced client asks of a server with Skein.
TEST_F(TraceCallsTest, AServerWithoutSkeinIsAskedNothing) {
  MetadataSeen handlers(grpc::StatusCode::UNIMPLEMENTED);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.AddChannelArgument("skein.mode", "off");
  builder.RegisterCallbackGenericService(&handlers);
  const auto stock = builder.BuildAndStart();
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "prefer");
  stub_ = std::make_unique<grpc::GenericStub>(
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials(), arguments));
  EXPECT_EQ(Call("/test.Echo/Warm").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  std::promise<std::string> path;
  std::once_flag once;
  const absl::Cleanup none_later = [] { TraceCalls(0, nullptr).IgnoreError(); };
  ASSERT_TRUE(TraceCalls(1, [&](const TracedCall& call) {
                // gRPC may only now have let go of the call before.
                if (call.method == "/test.Echo/Call") std::call_once(once, [&] { path.set_value(call.path); });
              }).ok());
  EXPECT_EQ(Call("/test.Echo/Call").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(path.get_future().get(), "tcp") << "the call was traced";
  EXPECT_THAT(handlers.seen, testing::Not(Contains(testing::StartsWith("skein-"))));
}

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!skein::grpc_transport::Init().ok()) return 1;
  return RUN_ALL_TESTS();
}
