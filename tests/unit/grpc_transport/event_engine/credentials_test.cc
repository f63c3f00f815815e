// What gRPC tells its engine of a channel's credentials, and that a channel takes the way that this allows.
#include <grpc/event_engine/event_engine.h>
#include <grpc/grpc.h>
#include <grpc/impl/channel_arg_names.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <skein/grpc.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "grpc_transport/event_engine/engine_types.h"
#include "gtest/gtest.h"

// gRPC's own says no outside of Google's cloud, and then there are no credentials of ALTS's.
[[gnu::visibility("default")]] bool grpc_alts_is_running_on_gcp() { return true; }

namespace skein::grpc_transport {
namespace {

constexpr std::chrono::seconds kPatience{20};

// gRPC's own engine, which notes the scheme of the first connection that it is asked for, and makes none.
class NotingEngine final : public EventEngine {
 public:
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress&, const EndpointConfig& config,
                           MemoryAllocator, Duration) override {
    const std::optional<absl::string_view> scheme = config.GetString(GRPC_ARG_HTTP2_SCHEME);
    if (!asked.HasBeenNotified()) {
      scheme_ = std::string(scheme.value_or("none"));
      asked.Notify();
    }
    inner_->Run([on_connect = std::move(on_connect)]() mutable { on_connect(absl::UnavailableError("a test")); });
    return {1, 1};
  }
  bool CancelConnect(ConnectionHandle) override { return false; }
  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(Listener::AcceptCallback,
                                                           absl::AnyInvocable<void(absl::Status)>,
                                                           const EndpointConfig&,
                                                           std::unique_ptr<MemoryAllocatorFactory>) override {
    return absl::UnimplementedError("a test");
  }
  bool IsWorkerThread() override { return inner_->IsWorkerThread(); }
  absl::StatusOr<std::unique_ptr<DNSResolver>> GetDNSResolver(const DNSResolver::ResolverOptions& options) override {
    return inner_->GetDNSResolver(options);
  }
  void Run(Closure* closure) override { inner_->Run(closure); }
  void Run(absl::AnyInvocable<void()> closure) override { inner_->Run(std::move(closure)); }
  TaskHandle RunAfter(Duration when, Closure* closure) override { return inner_->RunAfter(when, closure); }
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override {
    return inner_->RunAfter(when, std::move(closure));
  }
  bool Cancel(TaskHandle handle) override { return inner_->Cancel(handle); }

  absl::Notification asked;
  const std::string& scheme() const { return scheme_; }

 private:
  const std::shared_ptr<EventEngine> inner_ = grpc_event_engine::experimental::CreateEventEngine();
  std::string scheme_;
};

// As a channel with such credentials names it to its engine.
std::string SchemeWith(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  auto* const engine = new std::shared_ptr<EventEngine>(std::make_shared<NotingEngine>());  // gRPC may end it late
  auto& noting = static_cast<NotingEngine&>(**engine);
  grpc::ChannelArguments arguments;
  arguments.SetPointerWithVtable(GRPC_ARG_EVENT_ENGINE, engine,
                                 grpc_event_engine::experimental::grpc_event_engine_arg_vtable());
  const auto channel = grpc::CreateCustomChannel("ipv4:127.0.0.1:1", credentials, arguments);
  channel->GetState(/*try_to_connect=*/true);
  return noting.asked.WaitForNotificationWithTimeout(absl::FromChrono(kPatience)) ? noting.scheme() : "not asked";
}

TEST(CredentialsSeam, TlsIsKnownByItsScheme) {
  EXPECT_EQ(SchemeWith(grpc::SslCredentials({})), "https");
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  EXPECT_EQ(SchemeWith(grpc::experimental::TlsCredentials(options)), "https");
}

TEST(CredentialsSeam, CredentialsThatPutNothingBeforeHttp2HaveNone) {
  EXPECT_EQ(SchemeWith(grpc::InsecureChannelCredentials()), "none");
  EXPECT_EQ(SchemeWith(grpc::experimental::LocalCredentials(LOCAL_TCP)), "none");
}

// EngineTest.AChannelThatBeginsWithSomethingElseThanHttp2IsNotAskedForAgain is there for this.
TEST(CredentialsSeam, NeitherHasAltsWhichPutsItsHandshakeFirst) {
  const auto alts = grpc::experimental::AltsCredentials(grpc::experimental::AltsCredentialsOptions());
  ASSERT_NE(alts, nullptr);
  EXPECT_EQ(SchemeWith(alts), "none");
}

class CredentialsTest : public testing::Test {
 protected:
  // The paths of a channel that has connected with such credentials, of both its ends.
  static std::string PathsOf(const std::shared_ptr<grpc::ServerCredentials>& servers,
                             const std::shared_ptr<grpc::ChannelCredentials>& clients,
                             const std::string& servers_mode) {
    EXPECT_TRUE(Init().ok());
    int port = 0;
    grpc::AsyncGenericService service;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", servers, &port);
    builder.AddChannelArgument("skein.mode", servers_mode);
    builder.RegisterAsyncGenericService(&service);
    const auto queue = builder.AddCompletionQueue();
    const auto server = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetString("skein.mode", "prefer");
    const auto channel = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), clients, arguments);
    std::string paths = "not connected";
    if (channel->WaitForConnected(std::chrono::system_clock::now() + kPatience)) {
      paths.clear();
      for (const Path& path : Paths()) {
        if (path.role == Path::Role::kClient)
          absl::StrAppend(&paths, path.path.substr(0, 3), path.secure ? " secure" : "");
      }
    }
    server->Shutdown(std::chrono::system_clock::now());
    queue->Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue->Next(&tag, &ok);) {
    }
    return paths;
  }
};

// They look at the addresses of the connection, which stay TCP's.
TEST_F(CredentialsTest, LocalCredentialsTakeSharedMemory) {
  EXPECT_EQ(PathsOf(grpc::experimental::LocalServerCredentials(LOCAL_TCP),
                    grpc::experimental::LocalCredentials(LOCAL_TCP), "prefer"),
            "shm");
}

TEST_F(CredentialsTest, AndStayOnTcpWithAServerWithoutSkein) {
  EXPECT_EQ(PathsOf(grpc::experimental::LocalServerCredentials(LOCAL_TCP),
                    grpc::experimental::LocalCredentials(LOCAL_TCP), "off"),
            "tcp");
}

}  // namespace
}  // namespace skein::grpc_transport
