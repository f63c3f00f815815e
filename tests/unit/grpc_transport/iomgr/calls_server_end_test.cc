// A server that ends with calls under way tells each caller the same as over TCP.
#include <skein/grpc.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/two_ends.h"

namespace skein::grpc_transport {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

// Answers no call until the call is cancelled.
class Silent final : public grpc::CallbackGenericService {
 public:
  absl::Notification called;

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* /*context*/) override {
    if (!called.HasBeenNotified()) called.Notify();
    return new Call;
  }
};

class ServerEnds : public testing::TestWithParam<std::string> {
 protected:
  void Serve(int most_age_ms) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument("skein.mode", GetParam());
    if (most_age_ms > 0) {
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, most_age_ms);
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 1);
    }
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }
  grpc::Status Call() const {
    grpc::ChannelArguments arguments;
    arguments.SetString("skein.mode", GetParam());
    return CallOver(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials(), arguments),
        "/test.Silent/Call");
  }

  int port_ = 0;
  Silent service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_P(ServerEnds, CallsThatItCancelsAreToldSo) {
  Serve(0);
  grpc::Status status;
  std::thread caller([&] { status = Call(); });
  EXPECT_TRUE(service_.called.WaitForNotificationWithTimeout(kPatience));
  server_->Shutdown(std::chrono::system_clock::now());
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "Cancelling all calls");
}

TEST_P(ServerEnds, CallsOfAConnectionThatIsTooOldAreToldSo) {
  Serve(/*most_age_ms=*/2000);
  const grpc::Status status = Call();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "enter idle");
  server_->Shutdown(std::chrono::system_clock::now());
}

INSTANTIATE_TEST_SUITE_P(Over, ServerEnds, testing::Values("off", "require"),
                         [](const auto& mode) { return mode.param == "off" ? "Tcp" : "Skein"; });

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return skein::grpc_transport::Init().ok() ? RUN_ALL_TESTS() : 1;
}
