// Credits and ReceiverScheduler together: senders in front of one receiver, every word between them late by as much as
// chance wants, but in order on each queue pair.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "core/schedule/credits.h"
#include "core/schedule/receiver_scheduler.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::schedule {
namespace {

constexpr uint16_t kPool = 16;
constexpr uint32_t kMaxActive = 64;

enum class Word : uint8_t { kGrant, kDecline, kActivate };

struct Channel {
  explicit Channel(bool active) : credits(kDefaultCredits, active) {}
  Credits credits;
  std::deque<uint16_t> renewals;  // to the receiver
  std::deque<Word> words;         // to the sender
};

struct Peer {
  ReceiverScheduler::Sender sender = 0;
  uint64_t demand = 0;  // messages an interval
  std::vector<Channel> channels;
};

class World {
 public:
  World(std::mt19937_64& random, size_t peers, uint32_t max_active = kMaxActive)
      : random_(random), scheduler_(max_active) {
    for (size_t i = 0; i < peers; ++i) {
      const ReceiverScheduler::Added added = scheduler_.Add(kPool);
      Peer& peer = peers_[added.sender];
      peer.sender = added.sender;
      peer.demand = Draw(random_, 3) == 0 ? 0 : 500 + Draw(random_, 4000);
      for (uint16_t queue_pair = 0; queue_pair < kPool; ++queue_pair) {
        peer.channels.emplace_back(queue_pair < added.open);
      }
    }
  }
  void Interval() {
    for (auto& [sender, peer] : peers_) {
      for (uint64_t sent = 0, steps = 1; sent < peer.demand; ++steps) {
        sent += SendSome(peer);
        // Its turn may come only when others', who are silent meanwhile, are over.
        if (scheduler_.waited_for() && steps % 1000 == 0) EndInterval();
      }
    }
    EndInterval();
  }
  void EndInterval() {
    for (const auto& activation : scheduler_.Redistribute()) Activate(activation);
  }
  // Everything that is under way arrives.
  void Settle() {
    for (auto& [sender, peer] : peers_) {
      for (Channel& channel : peer.channels) {
        while (!channel.renewals.empty() || !channel.words.empty()) Move(peer, channel);
      }
    }
  }
  int TakeActivations() { return std::exchange(activations_, 0); }
  std::map<ReceiverScheduler::Sender, Peer>& peers() { return peers_; }
  const ReceiverScheduler& scheduler() const { return scheduler_; }

 private:
  void Activate(const ReceiverScheduler::Activation& activation) {
    peers_[activation.sender].channels[activation.queue_pair].words.push_back(Word::kActivate);
    ++activations_;
  }
  // One message, control or data, if there are credits, and some of what is under way. Gives the data messages sent.
  uint64_t SendSome(Peer& peer) {
    Channel& channel = peer.channels[Draw(random_, kPool - 1)];
    const bool control = Draw(random_, 7) == 0;
    const bool may = channel.credits.CanSend(control ? Credits::Use::kControl : Credits::Use::kData);
    if (may) channel.credits.OnSent(control ? 0 : 2);
    if (channel.credits.renewal_due()) {
      channel.renewals.push_back(channel.credits.MedianDegree());
      channel.credits.OnAsked();
    }
    Channel& lucky = peer.channels[Draw(random_, kPool - 1)];
    Move(peer, lucky);
    return may && !control ? 1 : 0;
  }
  void Move(Peer& peer, Channel& channel) {
    if (!channel.words.empty() && Draw(random_, 1) == 0) {
      const Word word = channel.words.front();
      channel.words.pop_front();
      const absl::Status status =
          word == Word::kActivate ? channel.credits.OnActivated() : channel.credits.OnAnswer(word == Word::kGrant);
      EXPECT_TRUE(status.ok()) << status;
    } else if (!channel.renewals.empty()) {
      const auto queue_pair = static_cast<uint16_t>(&channel - peer.channels.data());
      const ReceiverScheduler::Answer answer = scheduler_.OnRenewal(peer.sender, queue_pair, channel.renewals.front());
      channel.words.push_back(answer.granted ? Word::kGrant : Word::kDecline);
      if (answer.next.has_value()) Activate(*answer.next);
      channel.renewals.pop_front();
    }
  }

  std::mt19937_64& random_;
  ReceiverScheduler scheduler_;
  std::map<ReceiverScheduler::Sender, Peer> peers_;
  int activations_ = 0;
};

// No word is ever unexpected (Move checks), and every sender gets its messages out in every interval: else Interval
// would not end.
TEST(SymbiosisTest, NoWordIsUnexpectedHoweverLateItIs) {
  ForEachSeed([](std::mt19937_64& random) {
    World world(random, 2 + Draw(random, 8));
    for (int i = 0; i < 12; ++i) {
      world.Interval();
      for (auto& [sender, peer] : world.peers()) {
        if (Draw(random, 2) == 0) peer.demand = Draw(random, 2) * Draw(random, 4000);
      }
    }
  });
}

TEST(SymbiosisTest, NoWordIsUnexpectedInTurns) {
  ForEachSeed([](std::mt19937_64& random) {
    World world(random, 5 + Draw(random, 8), static_cast<uint32_t>(1 + Draw(random, 4)));
    for (int i = 0; i < 6; ++i) {
      world.Interval();
      for (auto& [sender, peer] : world.peers()) peer.demand = Draw(random, 2) * Draw(random, 500);
    }
  });
}

TEST(SymbiosisTest, SharesSettleByDemand) {
  ForEachSeed([](std::mt19937_64& random) {
    World world(random, 8);
    for (int i = 0; i < 6; ++i) world.Interval();
    world.Settle();
    uint64_t demand = 0;
    uint64_t dormant = 0;
    for (const auto& [sender, peer] : world.peers()) {
      demand += peer.demand;
      dormant += peer.demand == 0 ? 1 : 0;
    }
    world.TakeActivations();
    world.Interval();
    EXPECT_LE(world.TakeActivations(), 16) << "of 64; what is left is how many renewals an interval happens to have";
    for (const auto& [sender, peer] : world.peers()) {
      const uint16_t active = world.scheduler().active(sender);
      if (peer.demand == 0) {
        EXPECT_EQ(active, 1);
        continue;
      }
      // A fair share, or what the others' pools are too small for; renewals count demand in steps of C.
      const double fair =
          static_cast<double>(kMaxActive - dormant) * static_cast<double>(peer.demand) / static_cast<double>(demand);
      EXPECT_GE(active + 3.5, std::min<double>(fair, kPool)) << peer.demand;
    }
  });
}

}  // namespace
}  // namespace skein::schedule
