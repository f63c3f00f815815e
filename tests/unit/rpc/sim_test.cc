// The same calls and waits over the simulated NIC, whose time a thread of the test moves on: sources are read late,
// WRITEs land in pieces, and nobody can sleep.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/fabric/sim/simulation.h"
#include "core/rpc/client.h"
#include "gtest/gtest.h"
#include "tests/unit/rpc/served.h"

namespace skein::rpc {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(20);

// Lets the simulation's time pass, on a thread of its own.
class RunningTime {
 public:
  explicit RunningTime(fabric::Simulation& simulation)
      : thread_([&] {
          while (!over_) simulation.RunUntilIdle();
        }) {}
  ~RunningTime() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;  // before the thread that looks at it
  std::thread thread_;
};

TEST(SimTest, ThreadsCallAndUseMemory) {
  fabric::Simulation simulation(20261121);
  const RunningTime time(simulation);
  {
    Options at_server;
    at_server.fabrics = std::make_shared<stream::OneFabric>(simulation.CreateDevice("server"));
    Options at_client;
    at_client.fabrics = std::make_shared<stream::OneFabric>(simulation.CreateDevice("client"));
    Served served(at_server);
    ASSERT_TRUE(served.server().Attach(1, 4096, fabric::kRemoteAtomic).ok());
    Client client(at_client);
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

// The server is given the turns to watch, which are no link.
TEST(SimTest, MoreClientsThanMayBeActive) {
  fabric::Simulation simulation(20261121);
  const RunningTime time(simulation);
  Options at_server;
  at_server.fabrics = std::make_shared<stream::OneFabric>(simulation.CreateDevice("server"));
  at_server.ring_bytes = 1 << 16;
  Served served(at_server);
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < 260; ++i) {
    Options at_client = at_server;
    at_client.fabrics = std::make_shared<stream::OneFabric>(simulation.CreateDevice("client"));
    clients.push_back(std::make_unique<Client>(at_client));
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
