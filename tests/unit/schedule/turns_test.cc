// Turns: more senders than may be active.
#include "core/schedule/turns.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::schedule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Sender = Turns::Sender;

// Senders in front of a scheduler. What they are told is believed and compared with what the scheduler says.
class Crowd {
 public:
  Crowd(uint32_t places, size_t senders) : turns_(places), places_(places) {
    for (size_t i = 0; i < senders; ++i) Add();
  }

  Sender Add() {
    senders_.push_back(turns_.Add());
    open_.insert(senders_.back());
    Check();
    return senders_.back();
  }
  void Remove(Sender sender) {
    turns_.Remove(sender);
    std::erase(senders_, sender);
    open_.erase(sender);
    Check();
  }
  // Whether it is granted; in next() is whose turn has come instead.
  bool Ask(Sender sender) {
    const Turns::Answer answer = turns_.OnRenewal(sender);
    answer.granted ? (void)open_.insert(sender) : (void)open_.erase(sender);
    next_ = answer.next;
    if (next_.has_value()) Open(*next_);
    Check();
    return answer.granted;
  }
  std::optional<Sender> next() const { return next_; }
  std::vector<Sender> Intervals(uint64_t count = 1) {
    std::vector<Sender> activated = turns_.Redistribute(count);
    for (const Sender sender : activated) Open(sender);
    Check();
    return activated;
  }

  const std::vector<Sender>& senders() const { return senders_; }
  const Turns& turns() const { return turns_; }
  bool open(Sender sender) const { return open_.contains(sender); }
  std::vector<Sender> Active() const {
    std::vector<Sender> active = turns_.Active();
    std::sort(active.begin(), active.end());
    return active;
  }
  std::vector<Sender> Closed() const {
    std::vector<Sender> closed;
    for (const Sender sender : senders_) {
      if (!open(sender)) closed.push_back(sender);
    }
    return closed;
  }

 private:
  void Open(Sender sender) { EXPECT_TRUE(open_.insert(sender).second) << "told what it knows"; }
  void Check() const {
    for (const Sender sender : senders_) EXPECT_EQ(turns_.open(sender), open(sender));
    const std::vector<Sender> active = Active();
    EXPECT_TRUE(std::includes(senders_.begin(), senders_.end(), active.begin(), active.end()))
        << "a sender that is gone";
    EXPECT_LE(active.size(), places_);
    EXPECT_EQ(turns_.waited_for(), !Closed().empty());
  }

  Turns turns_;
  const uint32_t places_;
  std::vector<Sender> senders_;
  std::set<Sender> open_;  // as they have been told
  std::optional<Sender> next_;
};

TEST(TurnsTest, ATurnEndsWhenItsSenderAsksAndOthersWait) {
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

TEST(TurnsTest, WhoIsSilentForAnIntervalLosesItsPlaceIfOthersWantIt) {
  Crowd crowd(1, 2);
  const Sender silent = crowd.senders()[0];
  const Sender asks = crowd.senders()[1];
  EXPECT_THAT(crowd.Intervals(5), IsEmpty());
  EXPECT_THAT(crowd.Active(), ElementsAre(silent)) << "nobody wants it";
  EXPECT_TRUE(crowd.Ask(asks)) << "at once";
  EXPECT_THAT(crowd.Active(), ElementsAre(asks));
  EXPECT_TRUE(crowd.open(silent)) << "it has its credits still";
  EXPECT_FALSE(crowd.Ask(silent));
  EXPECT_THAT(crowd.Intervals(), IsEmpty()) << "it has just begun";
  EXPECT_THAT(crowd.Intervals(), ElementsAre(silent));
  EXPECT_FALSE(crowd.turns().waited_for());
}

TEST(TurnsTest, WhoAsksNowAndThenKeepsItsPlace) {
  Crowd crowd(2, 3);
  const std::vector<Sender> of = crowd.senders();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(crowd.Ask(of[0]));
    crowd.Intervals();
  }
  EXPECT_TRUE(crowd.Ask(of[2])) << "the other place is free";
  EXPECT_THAT(crowd.Active(), ElementsAre(of[0], of[2]));
}

TEST(TurnsTest, AControlRenewalOfWhoWaitsIsNoSecondWish) {
  Crowd crowd(1, 3);
  const std::vector<Sender> of = crowd.senders();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(crowd.Ask(of[1]));
  EXPECT_FALSE(crowd.Ask(of[2]));
  EXPECT_FALSE(crowd.Ask(of[0]));
  EXPECT_EQ(crowd.next(), of[1]);
  EXPECT_FALSE(crowd.Ask(of[1]));
  EXPECT_EQ(crowd.next(), of[2]);
}

TEST(TurnsTest, APlaceThatIsLeftIsGivenToWhoWaits) {
  Crowd crowd(2, 4);
  const std::vector<Sender> of = crowd.senders();
  EXPECT_FALSE(crowd.Ask(of[2]));
  EXPECT_FALSE(crowd.Ask(of[3]));
  crowd.Remove(of[2]);  // which waited
  EXPECT_TRUE(crowd.turns().waited_for());
  crowd.Remove(of[0]);
  EXPECT_FALSE(crowd.turns().in_turns());
  EXPECT_TRUE(crowd.turns().waited_for()) << "somebody is to be told that";
  EXPECT_THAT(crowd.Intervals(), ElementsAre(of[3]));
  EXPECT_FALSE(crowd.turns().waited_for());
}

TEST(TurnsTest, WhoIsNotThereIsNotGranted) {
  Crowd crowd(2, 1);
  EXPECT_FALSE(crowd.Ask(crowd.senders()[0] + 1));
  const Sender gone = crowd.senders()[0];
  crowd.Remove(gone);
  EXPECT_FALSE(crowd.Ask(gone));
  EXPECT_FALSE(crowd.turns().waited_for());
}

TEST(TurnsTest, TurnsThatEndAndBeginAgainAtOnceForgetNobody) {
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
  EXPECT_TRUE(crowd.turns().in_turns());
}

// The promise to mostly idle clients: nobody waits while those who ask within an interval are no more than the places.
TEST(TurnsTest, NobodyWaitsWhileFewAreBusy) {
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
TEST(TurnsTest, SilenceKeepsNobodyWaiting) {
  ForEachSeed([](std::mt19937_64& random) {
    const auto max_active = static_cast<uint32_t>(1 + Draw(random, 7));
    Crowd crowd(max_active, max_active);
    for (int step = 0; step < 300; ++step) {
      const Sender some = crowd.senders()[Draw(random, crowd.senders().size() - 1)];
      const uint64_t what = Draw(random, 19);
      if (what == 0) crowd.Add();
      if (what == 1 && crowd.senders().size() > 1) crowd.Remove(some);
      if (what == 2) crowd.Intervals(1 + Draw(random, 1));
      if (what > 2) crowd.Ask(some);
    }
    for (size_t turns = 0; turns < crowd.senders().size(); turns += max_active) crowd.Intervals(2);
    EXPECT_FALSE(crowd.turns().waited_for());
    EXPECT_THAT(crowd.Closed(), IsEmpty());
  });
}

// Whoever asks, and in whatever order: who waits has its turn after no more turns than there were before it.
TEST(TurnsTest, WhoWaitsIsNextAfterThoseBeforeIt) {
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
