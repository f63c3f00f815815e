// An idle server sleeps, whatever departed clients leave behind and however many clients wait at its door. It looks by
// itself at links that the kernel does not watch.
#include <netinet/in.h>
#include <skein/rpc.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "core/fabric/sim/simulation.h"
#include "core/rpc/options.h"
#include "core/rpc/server_port.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/held.h"
#include "tests/support/hooked_device.h"
#include "tests/support/thread_state.h"
#include "tests/unit/rpc/running_time.h"
#include "tests/unit/rpc/served.h"

namespace skein::rpc {
namespace {

Options Sleepy() {
  Options options;
  options.wait_mode = WaitMode::kBlock;
  return options;
}

class IdleServer {
 public:
  explicit IdleServer(const Options& options, const OnFabrics& on = {}) : server_(options, on) {
    EXPECT_TRUE(server_.Handle(kEcho, [](absl::string_view request, Reply reply) { reply.Send(request); }).ok());
    EXPECT_TRUE(server_.Handle(kKeep, [this](absl::string_view, Reply reply) { Keep(std::move(reply)); }).ok());
    address_ = server_.Listen("127.0.0.1:0").value();
    serving_ = std::thread([this] {
      thread_ = gettid();
      started_.Notify();
      EXPECT_TRUE(server_.Serve().ok());
    });
    started_.WaitForNotification();
  }
  ~IdleServer() {
    server_.Stop();
    serving_.join();
  }
  const std::string& address() const { return address_; }
  pid_t thread() const { return thread_; }
  // The link of the call of kKeep, which has no answer yet.
  link::Link& AwaitKept() {
    Held lock(mu_);
    mu_.Await(absl::Condition(
        +[](IdleServer* self) ABSL_NO_THREAD_SAFETY_ANALYSIS { return self->kept_.has_value(); }, this));
    return ServerPort::Of(*kept_).link();
  }

 private:
  void Keep(Reply reply) {
    Held lock(mu_);
    kept_.emplace(std::move(reply));
  }

  absl::Mutex mu_;
  std::optional<Reply> kept_ ABSL_GUARDED_BY(mu_);
  Server server_;
  std::string address_;
  pid_t thread_ = 0;
  absl::Notification started_;
  std::thread serving_;
};

TEST(IdleServerTest, SleepsWhileAHandlerHoldsAReplyToADepartedClient) {
  IdleServer server(Sleepy());
  PendingCall call;
  Client client(Sleepy());
  std::unique_ptr<Connection> connection = client.Connect(server.address(), kSoon).value();
  connection->Start(call, kKeep, "");
  const link::Link& link = server.AwaitKept();
  connection = nullptr;
  for (const Deadline soon = After(kSoon); !link.finished() && Clock::now() < soon;) std::this_thread::yield();
  ASSERT_TRUE(link.finished());
  EXPECT_TRUE(ThreadState(server.thread()).IsFoundAsleep(After(kSoon)));
  // The server still hears others.
  EXPECT_EQ(client.Connect(server.address(), kSoon).value()->Call(kEcho, "still well", kSoon).value_or(""),
            "still well");
}

TEST(IdleServerTest, SleepsWhileClientsWaitForDescriptors) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  IdleServer server(Sleepy());
  const ThreadState state(server.thread());
  ASSERT_TRUE(state.IsFoundAsleep(After(kSoon)));
  const uint64_t sleeps = state.sleeps();
  const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(server.address().substr(server.address().find(':') + 1))));
  {
    const DescriptorLimit none(0);
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    EXPECT_TRUE(state.SleepsAgain(sleeps, After(kSoon))) << "the server cannot accept, and spins";
  }
  // With descriptors again the server accepts the client, and ends the connection for what the client says.
  ASSERT_EQ(send(client.get(), "hello", 5, MSG_NOSIGNAL), 5);
  char byte = 0;
  EXPECT_LE(recv(client.get(), &byte, 1, 0), 0);
}

// epoll refuses a regular file's descriptor.
TEST(IdleServerTest, AnswersOnALinkThatTheKernelDoesNotWatch) {
  const UniqueFd file(memfd_create("refused by epoll", MFD_CLOEXEC));
  fabric::Hooks hooks;
  hooks.fd = [&file](int) { return file.get(); };
  fabric::Simulation simulation(20261128);
  const OnFabrics on = {std::make_shared<connect::OneFabric>(
      std::make_shared<fabric::HookedDevice>(simulation.CreateDevice("server"), std::move(hooks)))};
  const OnFabrics of_client = {std::make_shared<connect::OneFabric>(simulation.CreateDevice("client"))};
  const RunningTime time(simulation);
  IdleServer server(Sleepy(), on);
  Client client(Sleepy(), of_client);
  const auto connection = client.Connect(server.address(), kSoon);
  ASSERT_TRUE(connection.ok()) << connection.status();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ThreadState(server.thread()).IsFoundAsleep(After(kSoon)));
    EXPECT_EQ((*connection)->Call(kEcho, "hello", kSoon).value_or(""), "hello");
  }
}

}  // namespace
}  // namespace skein::rpc
