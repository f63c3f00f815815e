// Credits and Turns together: senders in front of one receiver, every word between them late by as much as
// chance wants, but in order.
#include <deque>
#include <map>

#include "core/schedule/credits.h"
#include "core/schedule/turns.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::schedule {
namespace {

enum class Word : uint8_t { kGrant, kDecline, kActivate };

struct Peer {
  Turns::Sender sender = 0;
  uint64_t demand = 0;  // messages an interval
  Credits credits{kDefaultCredits, /*active=*/true};
  int renewals = 0;        // on their way to the receiver
  std::deque<Word> words;  // to the sender
};

class World {
 public:
  World(std::mt19937_64& random, size_t peers, uint32_t places) : random_(random), turns_(places) {
    for (size_t i = 0; i < peers; ++i) {
      const Turns::Sender sender = turns_.Add();
      Peer& peer = peers_[sender];
      peer.sender = sender;
      peer.demand = Draw(random_, 3) == 0 ? 0 : 500 + Draw(random_, 4000);
    }
  }
  void Interval() {
    for (auto& [sender, peer] : peers_) {
      for (uint64_t sent = 0, steps = 1; sent < peer.demand; ++steps) {
        sent += SendSome(peer);
        // Its turn may come only when others', who are silent meanwhile, are over.
        if (turns_.waited_for() && steps % 1000 == 0) EndInterval();
      }
    }
    EndInterval();
  }
  std::map<Turns::Sender, Peer>& peers() { return peers_; }

 private:
  void EndInterval() {
    for (const Turns::Sender sender : turns_.Redistribute()) Activate(sender);
  }
  void Activate(Turns::Sender sender) { peers_[sender].words.push_back(Word::kActivate); }
  // One message, control or data, if there are credits, and some of what is under way. Gives the data messages sent.
  uint64_t SendSome(Peer& peer) {
    const bool control = Draw(random_, 7) == 0;
    const bool may = peer.credits.CanSend(control ? Credits::Use::kControl : Credits::Use::kData);
    if (may) peer.credits.OnSent();
    if (peer.credits.renewal_due()) {
      ++peer.renewals;
      peer.credits.OnAsked();
    }
    if (Draw(random_, 3) == 0) Move(peer);
    return may && !control ? 1 : 0;
  }
  void Move(Peer& peer) {
    if (!peer.words.empty() && Draw(random_, 1) == 0) {
      const Word word = peer.words.front();
      peer.words.pop_front();
      const absl::Status status =
          word == Word::kActivate ? peer.credits.OnActivated() : peer.credits.OnAnswer(word == Word::kGrant);
      EXPECT_TRUE(status.ok()) << status;
    } else if (peer.renewals > 0) {
      const Turns::Answer answer = turns_.OnRenewal(peer.sender);
      peer.words.push_back(answer.granted ? Word::kGrant : Word::kDecline);
      if (answer.next.has_value()) Activate(*answer.next);
      --peer.renewals;
    }
  }

  std::mt19937_64& random_;
  Turns turns_;
  std::map<Turns::Sender, Peer> peers_;
};

// No word is ever unexpected (Move checks), and every sender gets its messages out in every interval: else Interval
// would not end.
TEST(SymbiosisTest, NoWordIsUnexpectedHoweverLateItIs) {
  ForEachSeed([](std::mt19937_64& random) {
    World world(random, 2 + Draw(random, 8), /*places=*/64);
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
    World world(random, 5 + Draw(random, 8), /*places=*/static_cast<uint32_t>(1 + Draw(random, 4)));
    for (int i = 0; i < 6; ++i) {
      world.Interval();
      for (auto& [sender, peer] : world.peers()) peer.demand = Draw(random, 2) * Draw(random, 500);
    }
  });
}

}  // namespace
}  // namespace skein::schedule
