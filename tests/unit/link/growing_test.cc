// One lane becomes several: on demand, as many as both ends allow, and only those that the passive side has activated
// are used. Hostile words about lanes end the link.
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/base/deadline.h"
#include "core/base/fallback.h"
#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "core/wire/lane_messages.h"
#include "gtest/gtest.h"
#include "tests/support/forwarding_device.h"
#include "tests/support/hooked_device.h"
#include "tests/support/refused_queue_pair.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

class GrowingTest : public testing::Test {
 protected:
  static LinkOptions WithLanes(uint16_t lanes) {
    return {.ring_bytes = wire::kRingGranule, .max_lanes = lanes, .pool = schedule::PoolSize(0)};
  }

  struct Pair {
    std::shared_ptr<Link> client;
    std::shared_ptr<Link> server;
    std::vector<std::shared_ptr<RecordingPort>> from;
    std::vector<std::shared_ptr<RecordingPort>> to;
  };

  Pair Connect(LinkOptions clients, LinkOptions servers, int streams = 3) {
    Pair pair;
    pair.client = Link::Create(simulation_.CreateDevice("client"), std::move(clients)).value();
    pair.server = Link::Create(simulation_.CreateDevice("server"), std::move(servers)).value();
    Introduce(pair, streams);
    return pair;
  }

  Pair ConnectDevices(std::shared_ptr<fabric::Device> client, std::shared_ptr<fabric::Device> server) {
    Pair pair;
    pair.client = Link::Create(std::move(client), WithLanes(2)).value();
    pair.server = Link::Create(std::move(server), WithLanes(2)).value();
    Introduce(pair, 2);
    return pair;
  }

  static void Introduce(Pair& pair, int streams) {
    const Link::Answer accepted = pair.server->Accept(pair.client->Offer().value()).value();
    EXPECT_TRUE(pair.client->Complete(accepted).ok());
    for (int i = 0; i < streams; ++i) {
      pair.to.push_back(std::make_shared<RecordingPort>(pair.server->NewStreamNumber()));
      pair.from.push_back(std::make_shared<RecordingPort>(pair.to.back()->stream()));
      EXPECT_TRUE(pair.server->AddPort(pair.to.back()).ok());
      EXPECT_TRUE(pair.client->AddPort(pair.from.back()).ok());
    }
  }

  // Each stream says so many words, in both directions, and all of them arrive in their order.
  void Talk(Pair& pair, int rounds) {
    Link* const links[] = {pair.client.get(), pair.server.get()};
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < pair.from.size(); ++i) {
        Say(*pair.client, *pair.from[i], links);
        Say(*pair.server, *pair.to[i], links);
      }
    }
    for (size_t i = 0; i < pair.from.size(); ++i) {
      EXPECT_EQ(pair.to[i]->data.size(), said_[pair.from[i].get()]);
      EXPECT_EQ(pair.from[i]->data.size(), said_[pair.to[i].get()]);
    }
    EXPECT_FALSE(pair.client->finished());
    EXPECT_FALSE(pair.server->finished());
  }

  void Say(Link& from, Port& port, absl::Span<Link* const> links) {
    const std::byte word[24] = {};
    const ConstBytes bytes(word);
    // A stream that changes lanes waits until the old one has been read.
    while (from.Send(port, {&bytes, 1}, bytes.size()).value() == 0) PollAll(simulation_, links);
    said_[&port] += bytes.size();
    PollAll(simulation_, links);
  }

  // Polled wherever two news may be apart; so many words of the client's that it wants another lane.
  void TalkStepByStep(Pair& pair) {
    const std::byte word[24] = {};
    const ConstBytes bytes(word);
    for (int i = 0; i < 1000; ++i) {
      RecordingPort& from = *pair.from[i % pair.from.size()];
      said_[&from] += pair.client->Send(from, {&bytes, 1}, bytes.size()).value_or(0);
      for (int step = 0; step < 20; ++step) {
        simulation_.Step();
        pair.client->Poll();
        pair.server->Poll();
      }
    }
    Link* const links[] = {pair.client.get(), pair.server.get()};
    PollAll(simulation_, links);
  }

  // Another lane is not to be had; who polls is not kept busy by what is left of it.
  void GrowInVain(Pair& pair) {
    TalkStepByStep(pair);
    for (Link* link : {pair.client.get(), pair.server.get()}) {
      EXPECT_TRUE(link->StillConnected());
      EXPECT_EQ(link->lanes(), 1u);
      EXPECT_TRUE(link->Arm());
    }
    Talk(pair, 10);
  }

  fabric::Simulation simulation_{20261121};
  std::map<const Port*, size_t> said_;
};

TEST_F(GrowingTest, AsManyLanesAsTheActiveSideWants) {
  Pair pair = Connect(WithLanes(3), WithLanes(16));
  Talk(pair, 1000);
  EXPECT_EQ(pair.client->lanes(), 3u);
  EXPECT_EQ(pair.server->lanes(), 3u);
}

TEST_F(GrowingTest, AsManyAsThePassiveSideAllows) {
  Pair pair = Connect(WithLanes(16), WithLanes(2));
  Talk(pair, 1000);
  EXPECT_EQ(pair.server->lanes(), 2u);
  EXPECT_LE(pair.client->lanes(), 3u) << "it has asked for a third, in vain, and no more";
}

TEST_F(GrowingTest, WhatDoesNotContendStaysOnOneLane) {
  LinkOptions clients = WithLanes(4);
  clients.pool = schedule::PoolSize();
  Pair pair = Connect(clients, WithLanes(4));
  Talk(pair, 300);
  EXPECT_EQ(pair.client->lanes(), 1u);
}

TEST_F(GrowingTest, PeersShareActiveLanes) {
  LinkOptions servers = WithLanes(4);
  absl::Time now = absl::UnixEpoch();
  servers.shares = std::make_shared<Shares>(/*max_active=*/3, Shares::Intervals{.sharing = absl::Milliseconds(1)},
                                            [&now] { return now; });
  Pair first = Connect(WithLanes(4), servers);
  Pair second = Connect(WithLanes(4), servers);
  for (int round = 0; round < 40; ++round) {
    now += absl::Milliseconds(1);
    Talk(first, 30);
    Talk(second, 30);
  }
  // What was declined and activated meanwhile has lost nothing; Talk has looked.
  EXPECT_GT(first.client->lanes() + second.client->lanes(), 2u);
}

// Gives memory for one ring and its mirror.
class SmallDevice final : public fabric::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    if (left_-- == 0) return absl::ResourceExhaustedError("no more memory");
    return ForwardingDevice::Allocate(bytes, access);
  }

 private:
  int left_ = 2;
};

// Whose queue pair for the lane was accepted already: the active side sees its end before it hears the no.
TEST_F(GrowingTest, APeerWithoutMemoryForAnotherLaneKeepsTheLink) {
  Pair pair = ConnectDevices(simulation_.CreateDevice("client"),
                             std::make_shared<SmallDevice>(simulation_.CreateDevice("server")));
  GrowInVain(pair);
}

// Connects one queue pair.
class LonelyDevice final : public fabric::ForwardingDevice {
 public:
  using PeerSees = fabric::RefusedQueuePair::PeerSees;
  LonelyDevice(std::shared_ptr<fabric::Device> device, absl::Status why, PeerSees peer_sees)
      : ForwardingDevice(std::move(device)), why_(std::move(why)), peer_sees_(peer_sees) {}
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions& options) override {
    auto made = ForwardingDevice::CreateQueuePair(options);
    if (made_++ == 0 || !made.ok()) return made;
    return std::make_unique<fabric::RefusedQueuePair>(*std::move(made), why_, peer_sees_);
  }

 private:
  const absl::Status why_;
  const PeerSees peer_sees_;
  int made_ = 0;
};

class LonelyGrowingTest : public GrowingTest {
 protected:
  Pair ConnectLonely(FallbackCode why, LonelyDevice::PeerSees peer_sees) {
    const absl::Status refusal = FallbackError(why, "refused by the test");
    return ConnectDevices(std::make_shared<LonelyDevice>(simulation_.CreateDevice("client"), refusal, peer_sees),
                          simulation_.CreateDevice("server"));
  }
};

TEST_F(LonelyGrowingTest, WhoCannotCompleteAnotherLaneKeepsTheLink) {
  Pair pair = ConnectLonely(FallbackCode::kRendezvous, LonelyDevice::PeerSees::kNothing);
  GrowInVain(pair);
}

TEST_F(LonelyGrowingTest, APeerThatSeesTheEndOfALaneThatWasNeverGreetedKeepsTheLink) {
  Pair pair = ConnectLonely(FallbackCode::kNoRoute, LonelyDevice::PeerSees::kItsEnd);
  GrowInVain(pair);
}

TEST_F(LonelyGrowingTest, AnAnswerThatNoHonestPeerGivesEndsTheLink) {
  Pair pair = ConnectLonely(FallbackCode::kProtocol, LonelyDevice::PeerSees::kNothing);
  TalkStepByStep(pair);
  EXPECT_TRUE(pair.client->finished());
}

// The device takes long to connect the second queue pair: the test says how long.
class SlowGrowingTest : public GrowingTest {
 protected:
  std::shared_ptr<fabric::Device> Slow(absl::string_view name) {
    fabric::Hooks hooks;
    hooks.capabilities = [](fabric::DeviceCapabilities& capabilities) { capabilities.connects_slowly = true; };
    hooks.connecting = [this] {
      if (connections_++ == 0) return;
      begun_.Notify();
      go_on_.WaitForNotificationWithTimeout(3 * kSoon);  // a poller that waits here is found out, and not for ever
    };
    return std::make_shared<fabric::HookedDevice>(simulation_.CreateDevice(name), std::move(hooks));
  }
  // Both ends say and hear everything else meanwhile.
  void TalkWhileConnecting(Pair& pair) {
    TalkStepByStep(pair);
    ASSERT_TRUE(begun_.WaitForNotificationWithTimeout(kSoon));
    EXPECT_EQ(pair.client->lanes(), 1u);
    for (size_t i = 0; i < pair.from.size(); ++i) EXPECT_EQ(pair.to[i]->data.size(), said_[pair.from[i].get()]);
  }
  void GrowAtLast(Pair& pair) {
    TalkWhileConnecting(pair);
    go_on_.Notify();
    Link* const links[] = {pair.client.get(), pair.server.get()};
    const auto grown = [&] { return pair.client->lanes() == 2 && pair.server->lanes() == 2; };
    for (const Deadline soon = After(kSoon); !grown() && Clock::now() < soon;) PollAll(simulation_, links);
    EXPECT_TRUE(grown());
    Talk(pair, 300);
  }

  static constexpr absl::Duration kSoon = absl::Seconds(20);
  std::atomic<int> connections_ = 0;
  absl::Notification begun_;
  absl::Notification go_on_;
};

TEST_F(SlowGrowingTest, ThePollerOfThePassiveSideDoesNotWait) {
  Pair pair = ConnectDevices(simulation_.CreateDevice("client"), Slow("server"));
  GrowAtLast(pair);
}

TEST_F(SlowGrowingTest, ThePollerOfTheActiveSideDoesNotWait) {
  Pair pair = ConnectDevices(Slow("client"), simulation_.CreateDevice("server"));
  GrowAtLast(pair);
}

// The connecting thread holds the link, and may be the last to do so.
TEST_F(SlowGrowingTest, ALinkMayEndWhileAThreadConnectsALane) {
  Pair pair = ConnectDevices(simulation_.CreateDevice("client"), Slow("server"));
  TalkWhileConnecting(pair);
  const std::weak_ptr<Link> server = pair.server;
  pair.server->Close();
  Link* const links[] = {pair.client.get(), pair.server.get()};
  PollAll(simulation_, links);
  EXPECT_TRUE(pair.server->finished());
  EXPECT_EQ(pair.to[0]->losses, 1);
  pair.server = nullptr;
  go_on_.Notify();
  for (const Deadline soon = After(kSoon); !server.expired() && Clock::now() < soon;) std::this_thread::yield();
  EXPECT_TRUE(server.expired());
}

TEST_F(GrowingTest, ALinkOfManyLanesEndsWhole) {
  Pair pair = Connect(WithLanes(4), WithLanes(4));
  Talk(pair, 1000);
  ASSERT_EQ(pair.client->lanes(), 4u);
  pair.server->Close();
  Link* const links[] = {pair.client.get(), pair.server.get()};
  PollAll(simulation_, links);
  EXPECT_TRUE(pair.server->finished());
  for (int i = 0; i < 100 && !pair.client->finished(); ++i) {
    pair.client->StillConnected();
    PollAll(simulation_, links);
  }
  EXPECT_TRUE(pair.client->finished());
  for (const auto& port : pair.from) EXPECT_EQ(port->losses, 1);
}

TEST_F(GrowingTest, WhatHadArrivedOnAnyLaneIsDeliveredBeforeTheEnd) {
  Pair pair = Connect(WithLanes(4), WithLanes(4), /*streams=*/4);
  Talk(pair, 1000);
  ASSERT_EQ(pair.client->lanes(), 4u);
  const std::byte word[24] = {};
  const ConstBytes bytes(word);
  for (const auto& port : pair.from) {
    ASSERT_EQ(pair.client->Send(*port, {&bytes, 1}, bytes.size()).value(), bytes.size());
    said_[port.get()] += bytes.size();
  }
  simulation_.RunUntilIdle();
  pair.server->Close();
  Link* const links[] = {pair.server.get()};
  PollAll(simulation_, links);
  EXPECT_TRUE(pair.server->finished());
  for (size_t i = 0; i < pair.to.size(); ++i) EXPECT_EQ(pair.to[i]->data.size(), said_[pair.from[i].get()]) << i;
}

class HostileGrowingTest : public testing::Test {
 protected:
  // A passive victim that has been greeted.
  HostileGrowingTest() {
    const Link::Answer accepted = victim_->Accept(peer_.Offer()).value();
    peer_.Attach(accepted.ring, accepted.connection);
    peer_.WriteItem(peer_.Hello());
    Poll();
  }
  void Poll() {
    Link* const links[] = {victim_.get()};
    PollAll(simulation_, links);
  }
  void ExpectLostAfter(wire::ItemKind kind, absl::string_view payload) {
    const auto port = std::make_shared<RecordingPort>(victim_->NewStreamNumber());
    ASSERT_TRUE(victim_->AddPort(port).ok());
    peer_.WriteItem(kind, 0, 0, payload);
    Poll();
    EXPECT_TRUE(victim_->finished());
    EXPECT_EQ(port->losses, 1);
  }
  // A queue pair's offer that could be accepted.
  std::string SomeOffer() {
    const std::shared_ptr<fabric::Device> device = simulation_.CreateDevice("more of it");
    others_.push_back(Link::Create(device, {.ring_bytes = wire::kRingGranule}).value());
    return others_.back()->Offer().value();
  }

  fabric::Simulation simulation_{20261121};
  std::shared_ptr<Link> victim_ =
      Link::Create(simulation_.CreateDevice("victim"), {.ring_bytes = wire::kRingGranule, .max_lanes = 2}).value();
  std::vector<std::shared_ptr<Link>> others_;
  HostilePeer peer_{simulation_};
};

TEST_F(HostileGrowingTest, ALaneOutOfTurn) {
  ExpectLostAfter(wire::ItemKind::kOpenLane, wire::Encode(wire::OpenLane{7, SomeOffer()}));
}
TEST_F(HostileGrowingTest, AMalformedRequest) { ExpectLostAfter(wire::ItemKind::kOpenLane, "?"); }
TEST_F(HostileGrowingTest, ALaneGivenToWhoGives) { ExpectLostAfter(wire::ItemKind::kLane, "?"); }
TEST_F(HostileGrowingTest, ARefusalOfNothing) { ExpectLostAfter(wire::ItemKind::kNoLane, {}); }

TEST_F(HostileGrowingTest, OnceRefusedIsRefused) {
  peer_.WriteItem(wire::ItemKind::kOpenLane, 0, 0, wire::Encode(wire::OpenLane{1, "no queue pair's offer"}));
  Poll();
  EXPECT_FALSE(victim_->finished()) << "a peer may offer what this end cannot take";
  ExpectLostAfter(wire::ItemKind::kOpenLane, wire::Encode(wire::OpenLane{2, SomeOffer()}));
}

TEST_F(HostileGrowingTest, MoreLanesThanThereMayBeAreRefused) {
  peer_.WriteItem(wire::ItemKind::kOpenLane, 0, 0, wire::Encode(wire::OpenLane{1, SomeOffer()}));
  Poll();
  EXPECT_EQ(victim_->lanes(), 2u);
  peer_.WriteItem(wire::ItemKind::kOpenLane, 0, 0, wire::Encode(wire::OpenLane{2, SomeOffer()}));
  Poll();
  EXPECT_EQ(victim_->lanes(), 2u);
  EXPECT_FALSE(victim_->finished());
}

// On a lane that it has been given, and has not greeted.
class UngreetedLaneTest : public HostileGrowingTest {
 protected:
  UngreetedLaneTest() {
    peer_.WriteItem(wire::ItemKind::kOpenLane, 0, 0, wire::Encode(wire::OpenLane{1, second_->Offer()}));
    Poll();
    const wire::GivenLane given = wire::DecodeGivenLane(peer_.Received(wire::ItemKind::kLane).at(0)).value();
    second_->Attach(given.ring, given.queue_pair);
  }

  std::optional<HostilePeer> second_{std::in_place, simulation_, "hostile, too"};
};

TEST_F(UngreetedLaneTest, ItsEndIsNobodysLoss) {
  second_.reset();
  Poll();
  EXPECT_FALSE(victim_->finished());
  EXPECT_TRUE(victim_->StillConnected());
  peer_.WriteItem(wire::ItemKind::kCloseLane, 0, 0);
  Poll();
  EXPECT_EQ(victim_->lanes(), 1u);
  EXPECT_FALSE(victim_->finished());
}

TEST_F(UngreetedLaneTest, ABreachEndsTheLink) {
  second_->Ring(0xdeadbeef);
  Poll();
  EXPECT_TRUE(victim_->finished());
}

}  // namespace
}  // namespace skein::link
