// Turns: more senders than may be active.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/schedule/receiver_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::schedule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Sender = ReceiverScheduler::Sender;

// Senders in front of a scheduler. What they are told is believed and compared with what the scheduler says.
class Crowd {
 public:
  Crowd(uint32_t max_active, size_t senders, uint16_t queue_pairs = 1) : scheduler_(max_active), max_(max_active) {
    for (size_t i = 0; i < senders; ++i) Add(queue_pairs);
  }

  Sender Add(uint16_t queue_pairs = 1) {
    const ReceiverScheduler::Added added = scheduler_.Add(queue_pairs);
    senders_.push_back(added.sender);
    lanes_[added.sender] = {queue_pairs, queue_pairs};
    for (uint16_t queue_pair = 0; queue_pair < added.open; ++queue_pair) open_[added.sender].insert(queue_pair);
    Check();
    return added.sender;
  }
  void Remove(Sender sender) {
    scheduler_.Remove(sender);
    std::erase(senders_, sender);
    open_.erase(sender);
    Check();
  }
  // Its last queue pair goes. When only one is left, it opens the others again.
  void CloseOne(Sender sender) {
    auto& [lanes, most] = lanes_[sender];
    if (lanes == 1) {
      for (; lanes < most; ++lanes) {
        if (scheduler_.open(sender, lanes)) open_[sender].insert(lanes);
      }
      return;
    }
    open_[sender].erase(--lanes);
    for (const auto& activation : scheduler_.OnClosed(sender, lanes)) Open(activation);
    Check();
  }
  // Whether it is granted; in next() is whose turn has come instead.
  bool Ask(Sender sender, uint16_t queue_pair = 0) {
    const ReceiverScheduler::Answer answer = scheduler_.OnRenewal(sender, queue_pair, 1);
    answer.granted ? (void)open_[sender].insert(queue_pair) : (void)open_[sender].erase(queue_pair);
    next_.reset();
    if (answer.next.has_value()) next_ = Open(*answer.next);
    Check();
    return answer.granted;
  }
  std::optional<Sender> next() const { return next_; }
  std::vector<Sender> Intervals(uint64_t count = 1) {
    std::vector<Sender> activated;
    for (const auto& activation : scheduler_.Redistribute(count)) activated.push_back(Open(activation));
    Check();
    return activated;
  }

  const std::vector<Sender>& senders() const { return senders_; }
  const ReceiverScheduler& scheduler() const { return scheduler_; }
  uint16_t lanes(Sender sender) { return lanes_[sender].first; }
  const std::set<uint16_t>& open(Sender sender) { return open_[sender]; }
  std::vector<Sender> Active() const {
    std::vector<Sender> active;
    for (const Sender sender : senders_) {
      if (scheduler_.active(sender) > 0) active.push_back(sender);
    }
    return active;
  }
  std::vector<Sender> Closed() {
    std::vector<Sender> closed;
    for (const Sender sender : senders_) {
      if (open_[sender].empty()) closed.push_back(sender);
    }
    return closed;
  }

 private:
  Sender Open(const ReceiverScheduler::Activation& activation) {
    if (activation.queue_pair >= lanes_[activation.sender].first) return activation.sender;  // it will be told
    EXPECT_TRUE(open_[activation.sender].insert(activation.queue_pair).second) << "told what it knows";
    return activation.sender;
  }
  void Check() {
    uint32_t sum = 0;
    for (const Sender sender : senders_) {
      sum += scheduler_.active(sender);
      for (const uint16_t queue_pair : open_[sender]) EXPECT_TRUE(scheduler_.open(sender, queue_pair));
    }
    EXPECT_LE(sum, max_);
    if (!Closed().empty()) {
      EXPECT_TRUE(scheduler_.waited_for()) << "for ever";
    }
  }

  ReceiverScheduler scheduler_;
  const uint32_t max_;
  std::vector<Sender> senders_;
  std::map<Sender, std::set<uint16_t>> open_;              // as they have been told
  std::map<Sender, std::pair<uint16_t, uint16_t>> lanes_;  // queue pairs that are there, of so many
  std::optional<Sender> next_;
};

TEST(ReceiverTurnsTest, ATurnEndsWhenItsSenderAsksAndOthersWait) {
  Crowd crowd(2, 4);
  const std::vector<Sender> of = crowd.senders();
  EXPECT_THAT(crowd.Active(), ElementsAre(of[0], of[1]));
  EXPECT_TRUE(crowd.Ask(of[0])) << "nobody waits yet";
  EXPECT_FALSE(crowd.Ask(of[2])) << "it has used the credits that everybody begins with";
  EXPECT_FALSE(crowd.next().has_value());
  EXPECT_FALSE(crowd.Ask(of[3]));
  EXPECT_FALSE(crowd.Ask(of[0]));
  EXPECT_EQ(crowd.next(), of[2]) << "who waits longest";
  EXPECT_FALSE(crowd.Ask(of[2]));
  EXPECT_EQ(crowd.next(), of[3]);
  EXPECT_FALSE(crowd.Ask(of[1]));
  EXPECT_EQ(crowd.next(), of[0]);
  EXPECT_THAT(crowd.Active(), ElementsAre(of[0], of[3]));
}

TEST(ReceiverTurnsTest, WhoIsSilentForAnIntervalLosesItsPlaceIfOthersWantIt) {
  Crowd crowd(1, 2);
  const Sender silent = crowd.senders()[0];
  const Sender asks = crowd.senders()[1];
  EXPECT_THAT(crowd.Intervals(5), IsEmpty());
  EXPECT_THAT(crowd.Active(), ElementsAre(silent)) << "nobody wants it";
  EXPECT_TRUE(crowd.Ask(asks)) << "at once";
  EXPECT_THAT(crowd.Active(), ElementsAre(asks));
  EXPECT_FALSE(crowd.open(silent).empty()) << "it has its credits still";
  EXPECT_FALSE(crowd.Ask(silent));
  EXPECT_THAT(crowd.Intervals(), IsEmpty()) << "it has just begun";
  EXPECT_THAT(crowd.Intervals(), ElementsAre(silent));
  EXPECT_FALSE(crowd.scheduler().waited_for());
}

TEST(ReceiverTurnsTest, WhoAsksNowAndThenKeepsItsPlace) {
  Crowd crowd(2, 3);
  const std::vector<Sender> of = crowd.senders();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(crowd.Ask(of[0]));
    crowd.Intervals();
  }
  EXPECT_TRUE(crowd.Ask(of[2])) << "the other place is free";
  EXPECT_THAT(crowd.Active(), ElementsAre(of[0], of[2]));
}

TEST(ReceiverTurnsTest, AControlRenewalOfWhoWaitsIsNoSecondWish) {
  Crowd crowd(1, 3);
  const std::vector<Sender> of = crowd.senders();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(crowd.Ask(of[1]));
  EXPECT_FALSE(crowd.Ask(of[2]));
  EXPECT_FALSE(crowd.Ask(of[0]));
  EXPECT_EQ(crowd.next(), of[1]);
  EXPECT_FALSE(crowd.Ask(of[1]));
  EXPECT_EQ(crowd.next(), of[2]);
}

TEST(ReceiverTurnsTest, WhoHadSharesKeepsOneQueuePairOpen) {
  Crowd crowd(4, 2, /*queue_pairs=*/8);
  const std::vector<Sender> of = crowd.senders();
  crowd.Intervals();
  for (const uint16_t queue_pair : {2, 3}) EXPECT_FALSE(crowd.Ask(of[0], queue_pair)) << "they are the second one's";
  EXPECT_TRUE(crowd.Ask(of[0], 1));
  for (int i = 0; i < 3; ++i) crowd.Add(8);
  EXPECT_THAT(crowd.open(of[4 - 3]), testing::Contains(0));
  EXPECT_TRUE(crowd.Ask(of[0], 1)) << "it used that one";
  EXPECT_FALSE(crowd.Ask(of[0], 0));
  EXPECT_THAT(crowd.open(of[0]), ElementsAre(1));
  EXPECT_FALSE(crowd.Ask(crowd.senders().back())) << "all places are taken";
  EXPECT_FALSE(crowd.Ask(of[0], 1));
  EXPECT_THAT(crowd.Intervals(2), testing::Contains(of[0])) << "where it has asked last";
  EXPECT_THAT(crowd.open(of[0]), ElementsAre(1));
}

TEST(ReceiverTurnsTest, APlaceThatIsLeftIsGivenToWhoWaits) {
  Crowd crowd(2, 4);
  const std::vector<Sender> of = crowd.senders();
  EXPECT_FALSE(crowd.Ask(of[2]));
  EXPECT_FALSE(crowd.Ask(of[3]));
  crowd.Remove(of[2]);  // which waited
  EXPECT_TRUE(crowd.scheduler().waited_for());
  crowd.Remove(of[0]);
  EXPECT_FALSE(crowd.scheduler().in_turns());
  EXPECT_TRUE(crowd.scheduler().waited_for()) << "somebody is to be told that";
  EXPECT_THAT(crowd.Intervals(), ElementsAre(of[3]));
  EXPECT_FALSE(crowd.scheduler().waited_for());
}

TEST(ReceiverTurnsTest, WhoClosesTheQueuePairThatHasItsPlaceWaitsOnTheFirst) {
  Crowd crowd(1, 0);
  const Sender closes = crowd.Add(2);
  EXPECT_TRUE(crowd.Ask(closes));
  const Sender other = crowd.Add();
  EXPECT_FALSE(crowd.Ask(other));
  EXPECT_FALSE(crowd.Ask(closes));
  EXPECT_EQ(crowd.next(), other);
  crowd.CloseOne(closes);
  EXPECT_FALSE(crowd.Ask(other));
  EXPECT_EQ(crowd.next(), closes);
  EXPECT_THAT(crowd.open(closes), ElementsAre(0));
}

TEST(ReceiverTurnsTest, WhoClosesItsOnlyShareGetsAnotherAtOnce) {
  Crowd crowd(1, 0);
  const Sender closes = crowd.Add(2);
  const Sender leaves = crowd.Add();
  crowd.Intervals(2);
  EXPECT_TRUE(crowd.Ask(leaves));
  EXPECT_FALSE(crowd.Ask(closes, 1));
  EXPECT_FALSE(crowd.Ask(closes, 0));
  EXPECT_FALSE(crowd.Ask(leaves));
  EXPECT_EQ(crowd.next(), closes);
  crowd.Remove(leaves);
  EXPECT_THAT(crowd.open(closes), ElementsAre(1));
  crowd.CloseOne(closes);
  EXPECT_THAT(crowd.open(closes), ElementsAre(0));
}

TEST(ReceiverTurnsTest, TurnsThatEndAndBeginAgainAtOnceForgetNobody) {
  Crowd crowd(2, 3);
  const std::vector<Sender> of = crowd.senders();
  EXPECT_FALSE(crowd.Ask(of[2]));
  crowd.Remove(of[0]);
  crowd.Add();
  EXPECT_THAT(crowd.Intervals(), ElementsAre(of[2])) << "the newcomer waits behind it";
  crowd.Remove(of[1]);
  crowd.Remove(of[2]);
  crowd.Add();
  crowd.Add();
  EXPECT_TRUE(crowd.scheduler().in_turns());
}

// The promise to mostly idle clients: nobody waits while those who ask within an interval are no more than the places.
TEST(ReceiverTurnsTest, NobodyWaitsWhileFewAreBusy) {
  ForEachSeed([](std::mt19937_64& random) {
    const auto max_active = static_cast<uint32_t>(2 + Draw(random, 60));
    Crowd crowd(max_active, max_active + 1 + Draw(random, 100));
    for (int i = 0; i < 50; ++i) {
      crowd.Intervals(2);
      std::vector<Sender> asking = crowd.senders();
      std::shuffle(asking.begin(), asking.end(), random);
      asking.resize(1 + Draw(random, max_active - 1));
      for (const Sender sender : asking) ASSERT_TRUE(crowd.Ask(sender));
    }
  });
}

// Any history (Crowd looks at what holds throughout). Then nobody asks for anything, and time alone gives all their
// turn.
TEST(ReceiverTurnsTest, SilenceKeepsNobodyWaiting) {
  ForEachSeed([](std::mt19937_64& random) {
    const auto max_active = static_cast<uint32_t>(1 + Draw(random, 7));
    Crowd crowd(max_active, max_active);
    for (int step = 0; step < 300; ++step) {
      const Sender some = crowd.senders()[Draw(random, crowd.senders().size() - 1)];
      const uint64_t what = Draw(random, 19);
      if (what == 0) crowd.Add(static_cast<uint16_t>(1 + Draw(random, 3)));
      if (what == 1 && crowd.senders().size() > 1) crowd.Remove(some);
      if (what == 2) crowd.Intervals(1 + Draw(random, 1));
      if (what == 3) crowd.CloseOne(some);
      if (what > 3) crowd.Ask(some, static_cast<uint16_t>(Draw(random, crowd.lanes(some) - 1)));
    }
    for (size_t turns = 0; turns < crowd.senders().size(); turns += max_active) crowd.Intervals(2);
    EXPECT_FALSE(crowd.scheduler().waited_for());
    EXPECT_THAT(crowd.Closed(), IsEmpty());
  });
}

// Whoever asks, and in whatever order: who waits has its turn after no more turns than there were before it.
TEST(ReceiverTurnsTest, WhoWaitsIsNextAfterThoseBeforeIt) {
  ForEachSeed([](std::mt19937_64& random) {
    const auto max_active = static_cast<uint32_t>(1 + Draw(random, 20));
    Crowd crowd(max_active, max_active + 1 + Draw(random, 50));
    for (const Sender sender : crowd.senders()) crowd.Ask(sender);
    for (int round = 0; round < 10; ++round) {
      const std::vector<Sender> waiting = crowd.Closed();
      std::set<Sender> had;
      for (size_t turn = 0; turn < waiting.size(); ++turn) {
        const std::vector<Sender> active = crowd.Active();
        ASSERT_FALSE(crowd.Ask(active[Draw(random, active.size() - 1)]));
        had.insert(crowd.next().value());
      }
      for (const Sender sender : waiting) ASSERT_EQ(had.count(sender), 1u);
    }
  });
}

}  // namespace
}  // namespace skein::schedule
