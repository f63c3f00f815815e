// Lanes come and go while their streams talk, at random and under threads: nothing is lost or overtakes.
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "gtest/gtest.h"
#include "tests/unit/link/conversation.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/waiting_port.h"

namespace skein::link {
namespace {

using schedule::PoolWish;

// Two links of one server, whose lanes may have to share few places, or to take turns.
class RandomTalk {
 public:
  explicit RandomTalk(uint64_t seed) : random_(seed), simulation_(seed) {
    servers_.shares = std::make_shared<Shares>(
        static_cast<uint32_t>(1 + Draw(seed % 2 == 0 ? 8 : 1)),
        Shares::Intervals{.sharing = absl::Milliseconds(1), .turn = absl::Milliseconds(1)}, [this] { return now_; });
    for (int i = 0; i < 2; ++i) {
      talks_.push_back(std::make_unique<Conversation>(simulation_.CreateDevice(absl::StrCat("client ", i)), clients_,
                                                      simulation_.CreateDevice("server"), servers_));
      for (int stream = 0; stream < 3; ++stream) talks_.back()->AddStream();
    }
  }

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) Step(*talks_[Draw(1)]);
    wish_ = PoolWish::kAsIs;
    // Everybody can still say something, by and by.
    for (const auto& talk : talks_) {
      for (size_t i = 0; i < talk->streams(); ++i) {
        for (const bool by_client : {false, true}) SayAtLast(*talk, i, by_client);
      }
    }
    Settle();
    for (const auto& talk : talks_) talk->ExpectAllHeard();
  }
  int closed() const { return closed_; }

 private:
  uint64_t Draw(uint64_t most) { return random_() % (most + 1); }

  void Step(Conversation& talk) {
    const size_t lanes = talk.client->lanes();
    switch (Draw(400)) {
      case 0:
        wish_ = Draw(1) == 0 ? PoolWish::kFewer : PoolWish::kMore;
        break;
      case 1:
        now_ += absl::Microseconds(Draw(3000));
        servers_.shares->Poll();
        break;
      case 2:
        talk.AddStream();
        break;
      case 3:
        if (talk.streams() > 2) talk.EndStream(Draw(talk.streams() - 1));
        break;
      case 4:
        laziness_ = Draw(1) == 0 ? 0 : Draw(60);
        break;
      case 5:
      case 6:
      case 7:
        talk.ReturnWindow(Draw(talk.streams() - 1), Draw(1) == 0, 1 + Draw(99));
        break;
      default:
        talk.Say(Draw(talk.streams() - 1), Draw(2) > 0, 1 + Draw(Draw(20) == 0 ? 9000 : 60));
    }
    for (uint64_t events = Draw(12); events > 0; --events) simulation_.Step();
    if (Draw(1 + laziness_) == 0) talk.client->Poll();
    if (Draw(1 + laziness_) == 0) talk.server->Poll();
    closed_ += talk.client->lanes() < lanes ? 1 : 0;
  }

  void SayAtLast(Conversation& talk, size_t stream, bool by_client) {
    for (int i = 0; i < 100; ++i) {
      if (talk.Say(stream, by_client, 8)) return;
      Settle();
    }
    ADD_FAILURE() << "a stream never had its turn";
  }

  void Settle() {
    now_ += absl::Milliseconds(3);
    servers_.shares->Poll();
    std::vector<Link*> links;
    for (const auto& talk : talks_) links.insert(links.end(), {talk->client.get(), talk->server.get()});
    PollAll(simulation_, links);
  }

  std::mt19937_64 random_;
  fabric::Simulation simulation_;
  absl::Time now_ = absl::UnixEpoch();
  PoolWish wish_ = PoolWish::kMore;
  LinkOptions clients_ = {
      .ring_bytes = wire::kRingGranule, .max_lanes = 4, .pool = [this](uint32_t, size_t) { return wish_; }};
  LinkOptions servers_ = {.ring_bytes = wire::kRingGranule, .max_lanes = 4};
  std::vector<std::unique_ptr<Conversation>> talks_;
  uint64_t laziness_ = 0;  // of who polls
  int closed_ = 0;
};

// A seed each, so that sanitizers' slowness is shared out among processes.
class ShrinkingPropertyTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ShrinkingPropertyTest, NothingIsLostOrOvertakes) {
  RandomTalk talk(GetParam());
  talk.Run(30'000);
  EXPECT_GT(talk.closed(), 0) << "lanes of two links";
}

// All of the first hundreds pass. With 70, a link waits for ever if Shares do not hear that a lane was closed.
INSTANTIATE_TEST_SUITE_P(Seeds, ShrinkingPropertyTest, testing::Range(uint64_t{60}, uint64_t{76}));

TEST(ShrinkingUnderThreadsTest, NothingIsLostOrOvertakes) {
  fabric::Simulation simulation(20261128);
  std::atomic<bool> more = true;
  const LinkOptions options = {.ring_bytes = wire::kRingGranule, .max_lanes = 4, .pool = [&more](uint32_t, size_t) {
                                 return more ? PoolWish::kMore : PoolWish::kFewer;
                               }};
  const std::shared_ptr<Link> client = Link::Create(simulation.CreateDevice("client"), options).value();
  const std::shared_ptr<Link> server = Link::Create(simulation.CreateDevice("server"), options).value();
  const Link::Answer accepted = server->Accept(client->Offer().value()).value();
  ASSERT_TRUE(client->Complete(accepted).ok());
  const auto pump = [&] {
    simulation.RunUntilIdle();
    client->Poll();
    server->Poll();
  };

  std::atomic<bool> stop = false;
  std::atomic<int> running = 0;
  std::vector<std::pair<std::shared_ptr<WaitingPort>, std::shared_ptr<WaitingPort>>> ports;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    const uint32_t stream = server->NewStreamNumber();
    const auto& [at_client, at_server] =
        ports.emplace_back(std::make_shared<WaitingPort>(stream), std::make_shared<WaitingPort>(stream));
    ASSERT_TRUE(server->AddPort(at_server).ok());
    ASSERT_TRUE(client->AddPort(at_client).ok());
    for (const auto& [link, port] : {std::pair(client, at_client), std::pair(server, at_server)}) {
      ++running;
      threads.emplace_back([&stop, &running, link = link, port = port] {
        for (int n = 0; !stop; ++n)
          port->SendAll(*link, std::string(n % 50 == 0 ? 5000 : 30, static_cast<char>('a' + n % 23)));
        --running;
      });
    }
  }

  for (int cycle = 0; cycle < 10; ++cycle) {
    more = true;
    while (client->lanes() < 4 || server->lanes() < 4) pump();
    more = false;
    while (client->lanes() > 1 || server->lanes() > 1) pump();
  }
  stop = true;
  while (running > 0) pump();
  for (std::thread& thread : threads) thread.join();
  while (!client->Flushed() || !server->Flushed()) pump();
  client->Drain();
  server->Drain();
  for (const auto& [at_client, at_server] : ports) {
    EXPECT_TRUE(at_server->heard == at_client->said);
    EXPECT_TRUE(at_client->heard == at_server->said);
  }
  EXPECT_FALSE(client->finished());
  EXPECT_FALSE(server->finished());
}

}  // namespace
}  // namespace skein::link
