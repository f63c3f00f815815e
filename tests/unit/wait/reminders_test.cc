#include "core/wait/reminders.h"

#include <poll.h>

#include <atomic>
#include <memory>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/wait/background_poller.h"
#include "gtest/gtest.h"

namespace skein::wait {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

class Counted final : public Reminder {
 public:
  explicit Counted(int times) : left_(times) {}
  bool Due() override {
    if (--left_ == 0) over.Notify();
    return left_ > 0;
  }
  int left() const { return left_; }

  absl::Notification over;

 private:
  std::atomic<int> left_;
};

class RemindersTest : public testing::Test {
 protected:
  bool Quiet() const {
    pollfd waits{reminders_->fd(), POLLIN, 0};
    return poll(&waits, 1, 0) == 0;
  }
  void AwaitTimer() const {
    pollfd waits{reminders_->fd(), POLLIN, 0};
    ASSERT_EQ(poll(&waits, 1, 20'000), 1);
  }

  const std::shared_ptr<Reminders> reminders_ = std::make_shared<Reminders>();
};

TEST_F(RemindersTest, ABackgroundPollerRemindsAsOftenAsIsAskedFor) {
  BackgroundPoller poller;
  poller.Add(reminders_);
  for (const int times : {1, 3}) {
    const auto counted = std::make_shared<Counted>(times);
    reminders_->Remind(counted);
    EXPECT_TRUE(counted->over.WaitForNotificationWithTimeout(kPatience)) << times;
  }
}

TEST_F(RemindersTest, NobodyIsRemindedBeforeTheMomentIsOver) {
  const auto counted = std::make_shared<Counted>(1);
  const Deadline begun = Clock::now();
  reminders_->Remind(counted);
  while (counted->left() > 0) reminders_->Poll();
  EXPECT_GE(Clock::now() - begun, Reminders::kMoment);
}

TEST_F(RemindersTest, IsQuietWhenNobodyIsToBeReminded) {
  auto gone = std::make_shared<Counted>(1);
  reminders_->Remind(gone);
  gone = nullptr;
  AwaitTimer();
  reminders_->Poll();
  EXPECT_TRUE(Quiet());
}

// A look may find the moment over just before the timer says so: that must not be left to wake the background thread
// for ever.
TEST_F(RemindersTest, ALookThatForestallsTheTimerSilencesIt) {
  for (int i = 0; i < 20; ++i) {
    const auto counted = std::make_shared<Counted>(1);
    reminders_->Remind(counted);
    while (counted->left() > 0) reminders_->Poll();
    EXPECT_TRUE(Quiet());
  }
  pollfd waits{reminders_->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&waits, 1, 2 * static_cast<int>(Reminders::kMoment.count())), 0);
}

}  // namespace
}  // namespace skein::wait
