#include "bench/sim/service/poll_thread.h"

#include <vector>

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

using absl::Microseconds;

class PollThreadTest : public ::testing::Test {
 protected:
  void RunUntil(absl::Duration end) {
    const absl::Time then = absl::UnixEpoch() + end;
    while (events_.next_time() <= then) events_.PopNext().action();
    events_.AdvanceTo(then);
  }
  // Work that came at that time.
  void At(absl::Duration when, int pieces = 1) {
    events_.At(absl::UnixEpoch() + when, [this, pieces] {
      left_ += pieces;
      woken_ = thread_.Notice();
    });
  }
  absl::Duration Now() const { return events_.now() - absl::UnixEpoch(); }

  fabric::sim::EventQueue events_;
  fabric::sim::Random random_{1};
  int left_ = 0;
  bool woken_ = false;
  std::vector<absl::Duration> begun_;
  PollThread thread_{events_, random_, {Microseconds(50), Microseconds(5), absl::ZeroDuration()}, [this] {
                       if (left_ == 0) return absl::ZeroDuration();
                       --left_;
                       begun_.push_back(Now());
                       return Microseconds(2);
                     }};
};

TEST_F(PollThreadTest, WhilePollingItBeginsAtOnceAndGoesOnWhileThereIsWork) {
  At(Microseconds(10), 3);
  RunUntil(Microseconds(30));
  EXPECT_FALSE(woken_);
  EXPECT_EQ(begun_, (std::vector{Microseconds(10), Microseconds(12), Microseconds(14)}));
  EXPECT_EQ(thread_.busy(), Microseconds(6));
  EXPECT_EQ(thread_.on_processor(), Microseconds(30));
}

TEST_F(PollThreadTest, BlockedItIsWoken) {
  At(Microseconds(100));
  RunUntil(Microseconds(120));
  EXPECT_TRUE(woken_);
  EXPECT_EQ(begun_, std::vector{Microseconds(105)});
  EXPECT_EQ(thread_.wake_ups(), 1U);
  EXPECT_EQ(thread_.busy(), Microseconds(7));                           // the wake-up and the work
  EXPECT_EQ(thread_.on_processor(), Microseconds(50 + 7 + 120 - 107));  // until it blocked, then since 107
  EXPECT_FALSE(thread_.blocked());
  RunUntil(Microseconds(200));
  EXPECT_TRUE(thread_.blocked());
  EXPECT_EQ(thread_.on_processor(), Microseconds(50 + 7 + 50));
}

TEST_F(PollThreadTest, WorkThatComesWhileItRunsWakesNobody) {
  At(Microseconds(100));
  At(Microseconds(106));
  RunUntil(Microseconds(120));
  EXPECT_FALSE(woken_);
  EXPECT_EQ(begun_, (std::vector{Microseconds(105), Microseconds(107)}));
  EXPECT_EQ(thread_.wake_ups(), 1U);
}

TEST_F(PollThreadTest, IsMeasuredFromAnyTimeOn) {
  RunUntil(Microseconds(20));
  thread_.StartMeasuring();
  At(Microseconds(30));
  RunUntil(Microseconds(40));
  EXPECT_EQ(thread_.busy(), Microseconds(2));
  EXPECT_EQ(thread_.on_processor(), Microseconds(20));
}

TEST_F(PollThreadTest, OneThatNeverBlocksNeedsNoWaking) {
  PollThread polls(events_, random_, {absl::InfiniteDuration(), Microseconds(5), absl::ZeroDuration()},
                   [] { return absl::ZeroDuration(); });
  RunUntil(absl::Seconds(1));
  EXPECT_FALSE(polls.blocked());
  EXPECT_EQ(polls.on_processor(), absl::Seconds(1));
}

}  // namespace
}  // namespace skein::bench
