// Many callers of one connection at once. No call may fail: one frame out of order would end the connection, and with
// it every call that is under way.
#include <grpc/grpc.h>
#include <skein/grpc.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/two_ends.h"

namespace skein::grpc_transport {
namespace {

// What each caller's calls carry, in turn.
using Sizes = std::vector<size_t>;

class CrowdTest : public testing::Test {
 protected:
  void Serve(int most_calls) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument("skein.mode", "require");
    if (most_calls > 0) builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, most_calls);
    builder.RegisterCallbackGenericService(&echo_);
    server_ = builder.BuildAndStart();
  }
  void Connect(grpc::ChannelArguments arguments = {}) {
    arguments.SetString("skein.mode", "require");
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // else gRPC would hide a connection that was lost
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials(), arguments));
    ASSERT_EQ(Call(*stub_, 1, absl::Seconds(20)).error_message(), "");
  }

  static grpc::Status Call(grpc::GenericStub& stub, size_t size, absl::Duration patience) {
    return CallBy(stub, "/test.Echo/Call", absl::ToChronoMilliseconds(patience), size);
  }

  // Its client's address.
  static std::string NewestConnection() {
    std::string newest;
    for (const Path& path : Paths()) {
      if (path.role == Path::Role::kClient) newest = path.local;
    }
    return newest;
  }

  void CallAtOnce(int callers, int calls, const Sizes& sizes) {
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    threads.reserve(callers);
    for (int caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&, caller] {
        for (int i = 0; i < calls; ++i) {
          const grpc::Status status = Call(*stub_, sizes[(caller + i) % sizes.size()], absl::Seconds(30));
          if (!status.ok() && failed.fetch_add(1) == 0) ADD_FAILURE() << status.error_message();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
  }

  int port_ = 0;
  Echo echo_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

TEST_F(CrowdTest, LongAndShortCallsBeginInOrder) {
  Serve(0);
  Connect();
  CallAtOnce(16, 100, {10, 200'000, 10, 100'000, 1'000'000});
}

TEST_F(CrowdTest, NoCallIsOneTooManyWhereTheServerTakesFew) {
  Serve(2);
  Connect();
  CallAtOnce(6, 200, {10, 100'000, 10});
}

TEST_F(CrowdTest, AnotherConnectionIsMadeBeforeNumbersRunOut) {
  Serve(0);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_INITIAL_SEQUENCE_NUMBER, 0x7fffffff - 400);
  Connect(arguments);
  const std::string before = NewestConnection();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Call(*stub_, 10, absl::Seconds(20)).error_message(), "");
  EXPECT_NE(NewestConnection(), before);
}

TEST_F(CrowdTest, AUserAgentMayHaveAnyBytes) {
  Serve(0);
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("caf\xc3\xa9\n");
  Connect(arguments);
}

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!skein::grpc_transport::Init().ok()) return 1;
  return RUN_ALL_TESTS();
}
