// A client sleeps while it waits for its first message to arrive, and for its last one.
#include <skein/rpc.h>
#include <sys/eventfd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "core/base/tcp_address.h"
#include "core/connect/route.h"
#include "core/connect/tcp.h"
#include "core/fabric/sim/simulation.h"
#include "core/rpc/options.h"
#include "core/rpc/server_service.h"
#include "gtest/gtest.h"
#include "tests/support/hooked_device.h"
#include "tests/unit/rpc/one_link.h"
#include "tests/unit/rpc/served.h"

namespace skein::rpc {
namespace {

// Nothing arrives anywhere before the test lets time pass.
fabric::Simulation& Time() {
  static auto* const simulation = new fabric::Simulation(20261128);
  return *simulation;
}

// This server accepts, and reads nothing of the link before the test calls Poll.
class SlowServer {
 public:
  SlowServer() : listener_(connect::ListenTcp("127.0.0.1:0").value()) {}
  std::string address() const { return AddressOf(listener_.get()).value(); }
  void Accept() {
    while (!tcp_.valid()) {
      absl::StatusOr<std::optional<UniqueFd>> accepted = connect::AcceptTcp(listener_.get());
      ASSERT_TRUE(accepted.ok()) << accepted.status();
      if (accepted->has_value()) tcp_ = **std::move(accepted);
    }
    const std::string offer =
        connect::ReceiveFrame(tcp_.get(), kFrameLetters, connect::kMaxOfferBytes, After(kSoon)).value();
    const connect::Listener::Result result = negotiator_->Accept(offer, connect::RouteOf(tcp_.get()));
    ASSERT_NE(result.placement.port, nullptr) << ToString(result.placement.why);
    ASSERT_TRUE(connect::SendFrame(tcp_.get(), kFrameLetters, result.answer).ok());
  }
  void Poll() {
    Time().RunUntilIdle();
    waiter_.link->Poll();
  }

 private:
  const UniqueFd listener_;
  UniqueFd tcp_;
  OneLink waiter_;
  const std::unique_ptr<connect::Listener> negotiator_ =
      connect::CreateListener(std::make_shared<connect::OneFabric>(Time().CreateDevice("server")), {}, &waiter_,
                              std::make_shared<ServerService>(Options()));
};

class PatientClientTest : public testing::Test {
 protected:
  PatientClientTest() {
    fabric::Hooks hooks;
    hooks.fd = [this](int) { return wakeup_.get(); };
    hooks.arming = [this] { ++arms_; };
    hooks.completes = [this] { return completes_.load(); };
    hooks.capabilities = [](fabric::DeviceCapabilities& capabilities) { capabilities.announces_close = false; };
    Options options;
    options.wait_mode = WaitMode::kBlock;
    const OnFabrics on = {std::make_shared<connect::OneFabric>(
        std::make_shared<fabric::HookedDevice>(Time().CreateDevice("client"), std::move(hooks)))};
    client_ = std::make_unique<Client>(options, on);
  }

  // A thread that arms is about to sleep.
  bool ArmsSoon(int before) const {
    for (const Deadline soon = After(kSoon); arms_ == before && Clock::now() < soon;) std::this_thread::yield();
    return arms_ > before;
  }

  // What has arrived wakes the client, and what has not does not.
  void Poll() {
    server_.Poll();
    eventfd_write(wakeup_.get(), 1);
  }
  void Silence() {
    eventfd_t rung = 0;
    eventfd_read(wakeup_.get(), &rung);
  }

  const UniqueFd wakeup_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<int> arms_ = 0;
  std::atomic<bool> completes_ = true;
  SlowServer server_;
  std::unique_ptr<Client> client_;
};

TEST_F(PatientClientTest, SleepsUntilItsFirstMessageArrivesAndUntilItsLastOneHas) {
  std::unique_ptr<Connection> connection;
  absl::Notification connected;
  std::thread connects([&] {
    absl::StatusOr<std::unique_ptr<Connection>> made = client_->Connect(server_.address(), absl::InfiniteDuration());
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) connection = *std::move(made);
    connected.Notify();
  });
  server_.Accept();
  EXPECT_TRUE(ArmsSoon(0));
  EXPECT_FALSE(connected.HasBeenNotified());
  while (!connected.HasBeenNotified()) Poll();
  connects.join();
  ASSERT_NE(connection, nullptr);
  Silence();
  const int before = arms_;
  completes_ = false;  // nothing tells the client that its good-bye has arrived
  connection = nullptr;
  EXPECT_GT(arms_, before);
}

}  // namespace
}  // namespace skein::rpc
