// Channels that are closed while their connection has been negotiated and HTTP/2 has not begun.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "gtest/gtest.h"
#include "tests/support/patient_ends.h"

namespace skein::grpc_transport {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

// Comes behind Skein's, at a server: HTTP/2 begins there when the test says so.
class Gate final : public grpc_core::Handshaker {
 public:
  static absl::Notification* reached;
  static absl::Notification* open;

  const char* name() const override { return "gate"; }
  void Shutdown(grpc_error_handle /*why*/) override {}
  void DoHandshake(grpc_tcp_server_acceptor* /*acceptor*/, grpc_closure* on_done,
                   grpc_core::HandshakerArgs* /*args*/) override {
    reached->Notify();
    std::thread([on_done, go_on = open] {
      go_on->WaitForNotification();
      const grpc_core::ExecCtx exec_ctx;
      grpc_core::ExecCtx::Run(DEBUG_LOCATION, on_done, absl::OkStatus());
    }).detach();
  }
};
absl::Notification* Gate::reached = nullptr;
absl::Notification* Gate::open = nullptr;

class GateFactory final : public grpc_core::HandshakerFactory {
 public:
  void AddHandshakers(const grpc_core::ChannelArgs& /*args*/, grpc_pollset_set* /*parties*/,
                      grpc_core::HandshakeManager* manager) override {
    manager->Add(grpc_core::MakeRefCounted<Gate>());
  }
  HandshakerPriority Priority() override { return HandshakerPriority::kSecurityHandshakers; }
};

size_t ClientsPaths() {
  const std::vector<Path> paths = Paths();
  return std::count_if(paths.begin(), paths.end(), [](const Path& path) { return path.role == Path::Role::kClient; });
}

bool Await(const std::function<bool()>& that) {
  for (const absl::Time end = absl::Now() + kPatience; absl::Now() < end; absl::SleepFor(absl::Milliseconds(5))) {
    if (that()) return true;
  }
  return false;
}

TEST(LeavingEarly, NothingIsLeftOfAConnectionWhoseChannelGoesBeforeTheServersSettings) {
  absl::Notification reached;
  absl::Notification open;
  Gate::reached = &reached;
  Gate::open = &open;
  grpc::CallbackGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument("skein.mode", "require");
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "require");
  std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments);

  channel->GetState(/*try_to_connect=*/true);
  ASSERT_TRUE(reached.WaitForNotificationWithTimeout(kPatience));
  ASSERT_TRUE(Await([] { return ClientsPaths() == 1; })) << "both ends have agreed";
  channel.reset();
  open.Notify();
  EXPECT_TRUE(Await([] { return ClientsPaths() == 0; })) << "the connection is leaked, with its link";
  server->Shutdown(std::chrono::system_clock::now());
}

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!skein::grpc_transport::Init().ok()) return 1;
  grpc_core::CoreConfiguration::RegisterBuilder([](grpc_core::CoreConfiguration::Builder* builder) {
    builder->handshaker_registry()->RegisterHandshakerFactory(grpc_core::HANDSHAKER_SERVER,
                                                              std::make_unique<skein::grpc_transport::GateFactory>());
  });
  return RUN_ALL_TESTS();
}
