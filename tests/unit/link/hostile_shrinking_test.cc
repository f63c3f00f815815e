// Hostile words about lanes that are to be closed end the link.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "core/wire/lane_messages.h"
#include "gtest/gtest.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

class HostileShrinkingTest : public testing::Test {
 protected:
  static constexpr wire::ItemKind kCloseLane = wire::ItemKind::kCloseLane;
  static constexpr wire::ItemKind kLaneClosed = wire::ItemKind::kLaneClosed;

  void BePassive() {
    const Link::Answer accepted = victim_->Accept(peer_.Offer()).value();
    peer_.Attach(accepted.ring, accepted.connection);
    peer_.WriteItem(peer_.Hello());
    Poll();
  }
  void BeActive() {
    const std::string answer = peer_.Accept(victim_->Offer().value());
    ASSERT_TRUE(victim_->Complete({answer, peer_.ring()}).ok());
    Poll();
    peer_.Attach(peer_.ReceivedHello());
  }
  void Poll() {
    Link* const links[] = {victim_.get()};
    PollAll(simulation_, links);
  }
  void OpenLane() {
    others_.push_back(Link::Create(simulation_.CreateDevice("more"), {.ring_bytes = wire::kRingGranule}).value());
    peer_.WriteItem(wire::ItemKind::kOpenLane, 0, 0, wire::Encode(wire::OpenLane{1, others_.back()->Offer().value()}));
    Poll();
    EXPECT_EQ(victim_->lanes(), 2u);
  }
  void ExpectLostAfter(const std::vector<wire::ItemKind>& kinds) {
    std::string items;
    for (const wire::ItemKind kind : kinds) items += wire::RawItem(kind, 0, 0, "");
    peer_.Write(static_cast<uint32_t>(kinds.size()), items);
    Poll();
    EXPECT_TRUE(victim_->finished());
  }

  // Messages of an active victim's, and the credits for them.
  void Talk(const std::shared_ptr<Port>& port, int messages) {
    const std::byte word[8] = {};
    const ConstBytes bytes(word);
    while (messages > 0) {
      if (victim_->Send(*port, {&bytes, 1}, bytes.size()).value() > 0) {
        --messages;
        continue;
      }
      Poll();
      peer_.Grant();
      Poll();
    }
    Poll();
  }

  schedule::PoolWish wish_ = schedule::PoolWish::kMore;
  fabric::Simulation simulation_{20261122};
  std::shared_ptr<Link> victim_ =
      Link::Create(
          simulation_.CreateDevice("victim"),
          {.ring_bytes = wire::kRingGranule, .max_lanes = 3, .pool = [this](uint32_t, size_t) { return wish_; }})
          .value();
  std::vector<std::shared_ptr<Link>> others_;
  HostilePeer peer_{simulation_};
};

TEST_F(HostileShrinkingTest, TheFirstLane) {
  BePassive();
  ExpectLostAfter({kCloseLane});
}
TEST_F(HostileShrinkingTest, ALaneTwice) {
  BePassive();
  OpenLane();
  ExpectLostAfter({kCloseLane, kCloseLane});
}
TEST_F(HostileShrinkingTest, AnAnswerToNobody) {
  BePassive();
  OpenLane();
  ExpectLostAfter({kLaneClosed});
}
TEST_F(HostileShrinkingTest, WhoIsToAskIsAsked) {
  BeActive();
  ExpectLostAfter({kCloseLane});
}
TEST_F(HostileShrinkingTest, AnAnswerWithoutAQuestion) {
  BeActive();
  ExpectLostAfter({kLaneClosed});
}
TEST_F(HostileShrinkingTest, OneMoreBeforeTheLastHasGone) {
  BePassive();
  OpenLane();
  ExpectLostAfter({kCloseLane, wire::ItemKind::kOpenLane});
}

// It has given the victim a lane, and thinks better of it before it has said hello there.
TEST_F(HostileShrinkingTest, ALaneThatWasNeverUsedMayGo) {
  BePassive();
  for (int i = 0; i < 3; ++i) {
    OpenLane();
    peer_.WriteItem(kCloseLane, 0, 0);
    Poll();
    EXPECT_EQ(victim_->lanes(), 1u);
  }
  EXPECT_FALSE(victim_->finished());
}

TEST_F(HostileShrinkingTest, WhoNeverAnswersKeepsTheOtherLanes) {
  BeActive();
  const auto port = std::make_shared<RecordingPort>(1);
  ASSERT_TRUE(victim_->AddPort(port).ok());
  Talk(port, Lane::kMessagesPerThought);
  std::optional<HostilePeer> second(std::in_place, simulation_, "hostile, too");
  const wire::OpenLane asked = wire::DecodeOpenLane(peer_.Received(wire::ItemKind::kOpenLane).at(0)).value();
  const std::string answer = second->Accept(asked.queue_pair);
  peer_.WriteItem(wire::ItemKind::kLane, 0, 0, wire::Encode(wire::GivenLane{1, second->ring(), answer}));
  Poll();
  second->Attach(second->ReceivedHello());
  second->says.open = false;  // its peer has not been activated there
  second->says.consumed = wire::MessageBytes(wire::ItemBytes(wire::kRingDescriptorBytes));
  second->Say();
  wish_ = schedule::PoolWish::kFewer;
  Talk(port, Lane::kMessagesPerThought);
  EXPECT_EQ(peer_.Received(kCloseLane).size(), 1u);

  second.reset();
  wish_ = schedule::PoolWish::kMore;
  Talk(port, Lane::kMessagesPerThought);
  EXPECT_TRUE(victim_->StillConnected());
  EXPECT_FALSE(victim_->finished());
  EXPECT_EQ(port->losses, 0);
  EXPECT_EQ(peer_.Received(wire::ItemKind::kOpenLane).size(), 1u) << "one thing at a time";
  ExpectLostAfter({kLaneClosed, kLaneClosed});
}

}  // namespace
}  // namespace skein::link
