// The same calls and waits over the simulated NIC, whose time a thread of the test moves on: sources are read late,
// WRITEs land in pieces, and nobody can sleep.
#include <poll.h>
#include <skein/rpc.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/connect/tcp.h"
#include "core/fabric/sim/simulation.h"
#include "core/rpc/client_service.h"
#include "core/rpc/options.h"
#include "gtest/gtest.h"
#include "tests/support/forwarding_device.h"
#include "tests/unit/rpc/one_link.h"
#include "tests/unit/rpc/running_time.h"
#include "tests/unit/rpc/served.h"

namespace skein::rpc {
namespace {

OnFabrics On(std::shared_ptr<fabric::Device> device) {
  return {std::make_shared<connect::OneFabric>(std::move(device))};
}

TEST(SimTest, ThreadsCallAndUseMemory) {
  fabric::Simulation simulation(20261121);
  const RunningTime time(simulation);
  {
    Served served(Options(), On(simulation.CreateDevice("server")));
    ASSERT_TRUE(served.server().Attach(1, 4096, kRemoteAtomic).ok());
    Client client(Options(), On(simulation.CreateDevice("client")));
    const auto connected = client.Connect(served.address(), kSoon);
    ASSERT_TRUE(connected.ok()) << connected.status();
    const auto& connection = *connected;
    const absl::StatusOr<RemoteRegion> attached = connection->Attach(1, kSoon);
    ASSERT_TRUE(attached.ok()) << attached.status();
    const RemoteRegion region = *attached;
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 50; ++i) {
          const std::string text = std::to_string(thread * 1000 + i);
          const absl::StatusOr<std::string> answer = connection->Call(i % 2 == 0 ? kEcho : kLater, text, kSoon);
          ASSERT_TRUE(answer.ok()) << answer.status();
          ASSERT_EQ(*answer, text);
          const absl::StatusOr<uint64_t> old = connection->FetchAdd(region, 0, 1);
          ASSERT_TRUE(old.ok()) << old.status();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(connection->FetchAdd(region, 0, 0).value_or(0), 150u);
  }
}

// Keeps an eye on the last queue pair.
class WatchedDevice final : public fabric::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions& options) override {
    auto queue_pair = ForwardingDevice::CreateQueuePair(options);
    if (queue_pair.ok()) last = queue_pair->get();
    return queue_pair;
  }
  fabric::QueuePair* last = nullptr;
};

// A client that waits for its answers and has nothing to send hears of it by nothing else.
TEST(SimTest, AServerThatHasLostALinkEndsItsClientsConnection) {
  fabric::SimConfig config;
  config.announce_close = false;
  fabric::Simulation simulation(20261121, config);
  const RunningTime time(simulation);
  const auto device = std::make_shared<WatchedDevice>(simulation.CreateDevice("server"));
  Served served(Options(), On(device));
  OneLink waiter;
  const auto connector =
      connect::CreateConnector(std::make_shared<connect::OneFabric>(simulation.CreateDevice("client")), {}, &waiter,
                               std::make_shared<ClientService>(Options()));
  const UniqueFd tcp = connect::ConnectTcp(served.address(), After(kSoon)).value();
  const auto attempt = connector->Begin({}).value();
  ASSERT_TRUE(connect::SendFrame(tcp.get(), kFrameLetters, attempt->offer()).ok());
  const std::string answer =
      connect::ReceiveFrame(tcp.get(), kFrameLetters, connect::kMaxAnswerBytes, After(kSoon)).value();
  ASSERT_NE(attempt->Complete(answer).port, nullptr);
  ASSERT_TRUE(simulation.FailQueuePair(device->last));
  pollfd end = {tcp.get(), POLLIN, 0};
  ASSERT_EQ(poll(&end, 1, TimeoutOf(After(kSoon))), 1);
  char byte = 0;
  EXPECT_EQ(recv(tcp.get(), &byte, 1, 0), 0);
}

// The server is given the turns to watch, which are no link.
TEST(SimTest, MoreClientsThanMayBeActive) {
  fabric::Simulation simulation(20261121);
  const RunningTime time(simulation);
  Options options;
  options.ring_bytes = 1 << 16;
  Served served(options, On(simulation.CreateDevice("server")));
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < 260; ++i) {
    clients.push_back(std::make_unique<Client>(options, On(simulation.CreateDevice("client"))));
    absl::StatusOr<std::unique_ptr<Connection>> connection = clients.back()->Connect(served.address(), kSoon);
    ASSERT_TRUE(connection.ok()) << connection.status();
    connections.push_back(*std::move(connection));
  }
  for (int call = 0; call < 40; ++call) {
    const absl::StatusOr<std::string> answer = connections.back()->Call(kEcho, "once more", kSoon);
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
}

}  // namespace
}  // namespace skein::rpc
