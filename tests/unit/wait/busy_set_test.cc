// Who arms what is busy, and when.
#include "core/wait/busy_set.h"

#include <memory>

#include "gtest/gtest.h"

namespace skein::wait {
namespace {

// Has `messages`, and is armed when it has none.
class FakeSource final : public Source {
 public:
  bool Poll() override {
    armed = false;
    if (messages == 0) return false;
    --messages;
    ++polled;
    return true;
  }
  bool Glance() override { return messages > 0 && visible; }
  bool Arm() override {
    armed = messages == 0;
    return armed;
  }
  void Disarm() override { armed = false; }
  int fd() const override { return -1; }
  bool finished() const override { return is_finished; }
  bool Retire() override { return false; }

  int messages = 0;
  int polled = 0;
  bool armed = true;
  bool visible = true;
  bool is_finished = false;
};

class FakeBusy final : public Busy {
 public:
  explicit FakeBusy(std::shared_ptr<FakeSource> fake) : Busy(fake), source(std::move(fake)) {}
  void Again() override { ++again; }
  const std::shared_ptr<FakeSource> source;
  int again = 0;
};

std::shared_ptr<FakeBusy> NewBusy() { return std::make_shared<FakeBusy>(std::make_shared<FakeSource>()); }

class BusySetTest : public ::testing::Test {
 protected:
  // One that ends asleep and is woken.
  void SpinInVain() {
    BusySet::Poller spin(set_);
    spin.Poll(true);
    spin.EndAsleep();
    set_.EndSleep();
  }

  BusySet set_{/*enabled=*/true};
  const std::shared_ptr<FakeBusy> busy_ = NewBusy();
};

TEST_F(BusySetTest, WhoSleepsNeedNotSpinWhileNothingIsBusy) {
  EXPECT_TRUE(set_.SleepUnlessBusy());
  EXPECT_TRUE(set_.anybody_sleeps());
  set_.EndSleep();
  set_.Use(busy_);
  EXPECT_FALSE(set_.SleepUnlessBusy());
  EXPECT_FALSE(set_.anybody_sleeps());
}

TEST_F(BusySetTest, IsPolledByWhoSpinsUntilItIsSeldomUsed) {
  set_.Use(busy_);
  busy_->source->messages = 1;
  {
    BusySet::Poller spin(set_);
    EXPECT_TRUE(spin.Poll(false));
    EXPECT_FALSE(spin.Poll(false));
    spin.End();
  }
  EXPECT_FALSE(set_.empty());
  SpinInVain();
  EXPECT_FALSE(set_.empty()) << "it has been used before";
  SpinInVain();
  EXPECT_TRUE(set_.empty());
  EXPECT_TRUE(busy_->source->armed);
  set_.Use(busy_);
  EXPECT_FALSE(set_.empty());
}

TEST_F(BusySetTest, OnlyAThoroughLookSeesWhatIsNoMessage) {
  set_.Use(busy_);
  busy_->source->messages = 1;
  busy_->source->visible = false;
  BusySet::Poller spin(set_);
  EXPECT_FALSE(spin.Poll(false));
  EXPECT_TRUE(spin.Poll(true));
  spin.End();
}

TEST_F(BusySetTest, IsArmedByTheLastWhoSpinsIfAnybodySleeps) {
  set_.Use(busy_);
  BusySet::Poller first(set_);
  BusySet::Poller second(set_);
  first.Poll(true);
  ASSERT_FALSE(busy_->source->armed);
  first.EndAsleep();
  EXPECT_FALSE(busy_->source->armed) << "the second spins";
  second.Poll(true);
  second.End();
  EXPECT_TRUE(busy_->source->armed);
  set_.EndSleep();
}

TEST_F(BusySetTest, IsDisarmedByTheFirstWhoSpins) {
  set_.Use(busy_);
  ASSERT_TRUE(busy_->source->armed);
  BusySet::Poller first(set_);
  EXPECT_TRUE(busy_->source->armed) << "it may be of no length";
  first.Poll(false);
  EXPECT_FALSE(busy_->source->armed);
  busy_->source->armed = true;  // by a sleeper that was just woken
  BusySet::Poller second(set_);
  second.Poll(false);
  EXPECT_TRUE(busy_->source->armed);
  second.End();
  first.EndAsleep();
  EXPECT_TRUE(busy_->source->armed);
  set_.EndSleep();
}

TEST_F(BusySetTest, IsNotArmedForNobody) {
  set_.Use(busy_);
  BusySet::Poller spin(set_);
  spin.Poll(true);
  spin.End();
  EXPECT_FALSE(busy_->source->armed);
}

TEST_F(BusySetTest, WhoAddsIsToldWhetherSomebodyPollsItFromNowOn) {
  EXPECT_FALSE(set_.Add(busy_));
  const std::shared_ptr<FakeBusy> other = NewBusy();
  other->source->messages = 1;
  BusySet::Poller spin(set_);
  EXPECT_TRUE(set_.Add(other));
  EXPECT_TRUE(spin.Poll(false));
  EXPECT_EQ(other->source->polled, 1);
  spin.End();
}

TEST_F(BusySetTest, WhoAttendsOneArmsItUnlessAPollerPollsIt) {
  const auto is_armed = [&] {
    busy_->source->armed = false;
    EXPECT_TRUE(set_.Attend(busy_, 1));
    return busy_->source->armed;
  };
  EXPECT_TRUE(is_armed());
  {
    BusySet::Poller spin(set_);
    EXPECT_TRUE(is_armed()) << "a poller does not poll what is not busy";
    set_.Use(busy_);
    EXPECT_FALSE(is_armed());
    spin.End();
  }
  EXPECT_TRUE(is_armed());
}

TEST_F(BusySetTest, ASenderWithoutEndHoldsNobodyWhoAttends) {
  busy_->source->messages = 1000;
  EXPECT_FALSE(set_.Attend(busy_, BusySet::kTimes));
  EXPECT_EQ(busy_->source->polled, BusySet::kTimes);
}

TEST_F(BusySetTest, OneThatIsRemovedIsArmedByWhoMayHavePolledIt) {
  set_.Use(busy_);
  BusySet::Poller spin(set_);
  spin.Poll(true);
  set_.Remove(*busy_);
  EXPECT_TRUE(set_.empty());
  ASSERT_FALSE(busy_->source->armed);
  spin.End();
  EXPECT_TRUE(busy_->source->armed);
  set_.Use(busy_);
  EXPECT_TRUE(set_.empty()) << "for good";
}

TEST_F(BusySetTest, ASenderWithoutEndHoldsNobodyWhoArms) {
  set_.Use(busy_);
  busy_->source->messages = 1000;
  BusySet::Poller spin(set_);
  spin.EndAsleep();
  EXPECT_EQ(busy_->again, 1);
  EXPECT_GT(busy_->source->messages, 900);
  set_.EndSleep();
}

TEST_F(BusySetTest, OfOneThatIsFinishedItsWatcherIsToldByWhoSpins) {
  set_.Use(busy_);
  BusySet::Poller spin(set_);
  spin.Poll(true);
  EXPECT_EQ(busy_->again, 0);
  busy_->source->is_finished = true;
  spin.Poll(false);
  EXPECT_EQ(busy_->again, 0) << "seldom enough";
  spin.Poll(true);
  EXPECT_EQ(busy_->again, 1);
  spin.End();
}

TEST_F(BusySetTest, DisabledItStaysEmpty) {
  BusySet disabled(/*enabled=*/false);
  EXPECT_FALSE(disabled.Add(busy_));
  disabled.Use(busy_);
  EXPECT_TRUE(disabled.empty());
}

}  // namespace
}  // namespace skein::wait
