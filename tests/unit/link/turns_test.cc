// More peers than may be active: each has its turn, nothing is lost, and only who waits needs time to pass.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "core/link/shares.h"
#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

class TurnsTest : public testing::Test {
 protected:
  static constexpr uint32_t kMaxActive = 2;

  struct Peer {
    std::shared_ptr<Link> client;
    std::shared_ptr<Link> server;
    std::vector<std::shared_ptr<RecordingPort>> from;
    std::vector<std::shared_ptr<RecordingPort>> to;
    std::string said;  // on each stream
  };

  void Connect(size_t peers) {
    LinkOptions options = {.ring_bytes = wire::kRingGranule};
    for (size_t i = 0; i < peers; ++i) {
      Peer& peer = peers_.emplace_back();
      options.shares = nullptr;
      peer.client = LinkOn(simulation_.CreateDevice("client"), options);
      options.shares = shares_;
      peer.server = LinkOn(simulation_.CreateDevice("server"), options);
      const Link::Answer accepted = peer.server->Accept(peer.client->Offer().value()).value();
      ASSERT_TRUE(peer.client->Complete(accepted).ok());
      for (int stream = 0; stream < 2; ++stream) {
        peer.to.push_back(std::make_shared<RecordingPort>(peer.server->ports().NewNumber()));
        peer.from.push_back(std::make_shared<RecordingPort>(peer.to.back()->stream()));
        ASSERT_TRUE(peer.server->ports().Add(peer.to.back()).ok());
        ASSERT_TRUE(peer.client->ports().Add(peer.from.back()).ok());
      }
    }
    Poll();
  }
  // All that is under way arrives.
  void Poll() {
    std::vector<Link*> links;
    for (const Peer& peer : peers_) {
      links.push_back(peer.client.get());
      links.push_back(peer.server.get());
    }
    PollAll(simulation_, links);
  }
  // A word on the peer's next stream. False: it waits for its turn.
  bool Say(Peer& peer) {
    const std::string word(8, static_cast<char>('a' + peer.said.size() % 26));
    const ConstBytes bytes(reinterpret_cast<const std::byte*>(word.data()), word.size());
    RecordingPort& from = *peer.from[peer.said.size() / 8 % peer.from.size()];
    if (peer.client->Send(from, {&bytes, 1}, bytes.size()).value() == 0) return false;
    peer.said += word;
    return true;
  }
  // What the peer said has arrived, on each stream in its order.
  void ExpectHeard(const Peer& peer) {
    std::vector<std::string> heard(peer.to.size());
    for (size_t at = 0; at < peer.said.size(); at += 8) heard[at / 8 % heard.size()] += peer.said.substr(at, 8);
    for (size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(peer.to[i]->data, heard[i]);
    EXPECT_FALSE(peer.client->finished());
    EXPECT_FALSE(peer.server->finished());
  }
  // Words until the peer has to wait.
  size_t SayAll(Peer& peer, size_t most) {
    size_t words = 0;
    while (words < most && Say(peer)) {
      ++words;
      Poll();
    }
    return words;
  }
  void PassTime(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      now_ += Shares::kTurn;
      while (shares_->Poll()) Poll();
      Poll();
    }
  }

  fabric::Simulation simulation_{20261121};
  absl::Time now_ = absl::UnixEpoch();
  std::shared_ptr<Shares> shares_ = std::make_shared<Shares>(kMaxActive, Shares::kTurn, [this] { return now_; });
  std::vector<Peer> peers_;
};

// No time passes: renewals alone end turns.
TEST_F(TurnsTest, BusyPeersShareByTurns) {
  Connect(7);
  for (int round = 0; round < 3000; ++round) {
    for (Peer& peer : peers_) Say(peer);
    Poll();
  }
  size_t least = SIZE_MAX;
  size_t most = 0;
  for (const Peer& peer : peers_) {
    ExpectHeard(peer);
    least = std::min(least, peer.said.size() / 8);
    most = std::max(most, peer.said.size() / 8);
  }
  // All turns are of as many messages; who still has credits when its turn comes keeps its place longer.
  EXPECT_GT(least, 3000 * kMaxActive / 7);
  EXPECT_LT(most, 2 * least);
}

TEST_F(TurnsTest, WhoFallsSilentKeepsNobodyWaiting) {
  Connect(6);
  for (Peer& peer : peers_) SayAll(peer, 20);  // all have asked once: two may go on, the others wait when they stop
  for (size_t i = 2; i < peers_.size(); ++i) {
    SayAll(peers_[i], 1000);
    EXPECT_FALSE(Say(peers_[i]));
  }
  for (int turns = 0; turns < 4; ++turns) {
    PassTime(3);
    for (size_t i = 2; i < peers_.size(); ++i) SayAll(peers_[i], 10);
  }
  for (Peer& peer : peers_) {
    EXPECT_TRUE(Say(peer));
    Poll();
    ExpectHeard(peer);
  }
}

TEST_F(TurnsTest, AmongManyIdlePeersNobodyWaits) {
  Connect(12);
  for (int round = 0; round < 100; ++round) {
    now_ += absl::Seconds(1);
    Peer& peer = peers_[round % peers_.size()];
    EXPECT_EQ(SayAll(peer, 200), 200u) << round;
  }
  for (const Peer& peer : peers_) ExpectHeard(peer);
}

TEST_F(TurnsTest, AnswersNeedNoTurn) {
  Connect(4);
  for (Peer& peer : peers_) SayAll(peer, 1000);
  const std::byte word[8] = {};
  const ConstBytes bytes(word);
  for (Peer& peer : peers_) {
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(peer.server->Send(*peer.to[0], {&bytes, 1}, bytes.size()).value(), bytes.size());
      Poll();
    }
    EXPECT_EQ(peer.from[0]->data.size(), 200 * bytes.size());
  }
}

TEST_F(TurnsTest, WhoLeavesMakesSpace) {
  Connect(5);
  for (Peer& peer : peers_) SayAll(peer, 1000);
  peers_.erase(peers_.begin(), peers_.begin() + 3);  // no turns any more
  PassTime(30);
  for (Peer& peer : peers_) {
    EXPECT_EQ(SayAll(peer, 500), 500u);
    ExpectHeard(peer);
  }
}

}  // namespace
}  // namespace skein::link
