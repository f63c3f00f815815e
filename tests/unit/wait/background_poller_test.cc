#include "core/wait/background_poller.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/thread_state.h"

namespace skein::wait {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kSoon = absl::Seconds(20);

// Can be retired once its last words have arrived.
class FakeSource final : public Source {
 public:
  explicit FakeSource(absl::Notification& dropped) : dropped_{dropped} {}

  void Arrive() {
    arrived_ = true;
    eventfd_write(event_.get(), 1);
  }
  int polls() const { return polls_; }

  bool Poll() override {
    ++polls_;
    eventfd_t value = 0;
    return eventfd_read(event_.get(), &value) == 0;
  }
  bool Arm() override { return true; }
  int fd() const override { return event_.get(); }
  bool finished() const override { return retired_; }
  bool Retire() override {
    retired_ = arrived_.load();
    return retired_;
  }

 private:
  struct Dropped {
    absl::Notification& notification;
    ~Dropped() { notification.Notify(); }
  };

  const Dropped dropped_;  // the last to go
  const UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> arrived_ = false;
  std::atomic<bool> retired_ = false;
  std::atomic<int> polls_ = 0;
};

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(BackgroundPollerTest, WhatHasToldItsPeerAllIsDropped) {
  BackgroundPoller poller;
  const size_t descriptors = OpenDescriptors();
  absl::Notification dropped;
  auto source = std::make_shared<FakeSource>(dropped);
  source->Arrive();
  poller.Add(std::move(source));
  EXPECT_TRUE(dropped.WaitForNotificationWithTimeout(kSoon));
  EXPECT_TRUE(poller.TakeAll().empty());
  EXPECT_LE(OpenDescriptors(), descriptors);  // a thread of an earlier test's may have ended since
}

TEST(BackgroundPollerTest, EachIsWaitedForAndOthersCanCome) {
  BackgroundPoller poller;
  for (int round = 0; round < 50; ++round) {  // with and without a thread that is there already
    absl::Notification first_dropped;
    absl::Notification second_dropped;
    auto first = std::make_shared<FakeSource>(first_dropped);
    auto second = std::make_shared<FakeSource>(second_dropped);
    poller.Add(first);
    poller.Add(second);
    second->Arrive();
    second = nullptr;
    ASSERT_TRUE(second_dropped.WaitForNotificationWithTimeout(kSoon));
    ASSERT_FALSE(first_dropped.HasBeenNotified());
    first->Arrive();
    first = nullptr;
    ASSERT_TRUE(first_dropped.WaitForNotificationWithTimeout(kSoon));
  }
}

TEST(BackgroundPollerTest, WhatIsTakenIsNotTouchedAnyMore) {
  BackgroundPoller poller;
  absl::Notification taken_dropped;
  auto taken = std::make_shared<FakeSource>(taken_dropped);
  poller.Add(taken);
  EXPECT_THAT(poller.TakeAll(), ElementsAre(taken));
  const int polls = taken->polls();
  taken->Arrive();
  absl::Notification other_dropped;
  auto other = std::make_shared<FakeSource>(other_dropped);
  other->Arrive();
  poller.Add(std::move(other));
  ASSERT_TRUE(other_dropped.WaitForNotificationWithTimeout(kSoon));
  EXPECT_EQ(taken->polls(), polls);
  EXPECT_FALSE(taken->finished());
}

TEST(BackgroundPollerTest, EndsWithWhatIsLeft) {
  absl::Notification dropped;
  {
    BackgroundPoller poller;
    poller.Add(std::make_shared<FakeSource>(dropped));
  }
  EXPECT_TRUE(dropped.HasBeenNotified());
}

// Nobody attends it when the background thread asks; but while that polls, and finds work, somebody goes to sleep on
// it.
class SleptOn final : public Source {
 public:
  bool Poll() override {
    armed_ = false;  // acknowledged
    attendance_ = Attendance::kAsleep;
    return std::exchange(work_, false);
  }
  bool Arm() override {
    if (std::exchange(work_later_, false)) {
      work_ = true;
      return false;
    }
    armed_ = true;
    return true;
  }
  int fd() const override { return event_.get(); }
  bool finished() const override { return false; }
  bool Retire() override { return false; }
  Attendance TakeAttendance() override { return attendance_; }
  bool armed() const { return armed_; }

 private:
  const UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  bool work_ = true;
  bool work_later_ = true;
  std::atomic<Attendance> attendance_ = Attendance::kNone;
  std::atomic<bool> armed_ = true;
};

TEST(BackgroundPollerTest, WhatItHasPolledItArmsForWhoSleepsOnIt) {
  BackgroundPoller poller;
  auto source = std::make_shared<SleptOn>();
  poller.Add(source);
  for (int looks = 0; looks < 2; ++looks) {  // each at all, in their order
    absl::Notification dropped;
    auto other = std::make_shared<FakeSource>(dropped);
    other->Arrive();
    poller.Add(std::move(other));
    ASSERT_TRUE(dropped.WaitForNotificationWithTimeout(kSoon));
  }
  EXPECT_TRUE(source->armed());
}

// Its words come one after the other, and wake nobody but who has armed it: so only who spins hears them all.
class Talkative final : public Source {
 public:
  explicit Talkative(int words, Attendance attendance) : left_(words), attendance_(attendance) {}

  bool Poll() override {
    if (left_ == 0) return false;
    if (--left_ == 0) heard_.Notify();
    return true;
  }
  bool Arm() override {
    armed_.fetch_add(1);
    return true;
  }
  int fd() const override { return event_.get(); }
  bool finished() const override { return false; }
  bool Retire() override { return false; }
  Attendance TakeAttendance() override { return attendance_; }

  absl::Notification& heard() { return heard_; }
  int armed() const { return armed_; }

 private:
  const UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  int left_;
  const Attendance attendance_;
  std::atomic<int> armed_ = 0;
  absl::Notification heard_;
};

TEST(BackgroundPollerTest, SpinsForWhomItIsDependedOn) {
  BackgroundPoller poller({WaitMode::kHybrid, absl::Seconds(1)});
  auto source = std::make_shared<Talkative>(1000, Attendance::kBackground);
  poller.Add(source);
  EXPECT_TRUE(source->heard().WaitForNotificationWithTimeout(kSoon));
  EXPECT_LT(source->armed(), 1000);
}

TEST(BackgroundPollerTest, SpinsForNobodyElse) {
  BackgroundPoller poller({WaitMode::kHybrid, absl::Seconds(1)});
  auto source = std::make_shared<Talkative>(1000, Attendance::kNone);
  poller.Add(source);
  absl::Notification dropped;
  auto other = std::make_shared<FakeSource>(dropped);
  other->Arrive();
  poller.Add(std::move(other));
  ASSERT_TRUE(dropped.WaitForNotificationWithTimeout(kSoon));
  EXPECT_FALSE(source->heard().HasBeenNotified());
}

// Messages come to this source without end. Each poll calls the test.
class Endless final : public Source {
 public:
  explicit Endless(std::function<void()> at_poll) : at_poll_(std::move(at_poll)) {}
  bool Poll() override {
    at_poll_();
    return true;
  }
  bool Arm() override { return false; }
  int fd() const override { return event_.get(); }
  bool finished() const override { return false; }
  bool Retire() override { return false; }
  Attendance TakeAttendance() override { return Attendance::kBackground; }

 private:
  const UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const std::function<void()> at_poll_;
};

TEST(BackgroundPollerTest, AddWaitsForNoPoll) {
  BackgroundPoller poller({WaitMode::kHybrid, absl::Seconds(1)});
  absl::Notification polls;
  absl::Notification added;
  poller.Add(std::make_shared<Endless>([&, told = false]() mutable {
    if (std::exchange(told, true)) return;
    polls.Notify();
    EXPECT_TRUE(added.WaitForNotificationWithTimeout(kSoon));
  }));
  ASSERT_TRUE(polls.WaitForNotificationWithTimeout(kSoon));
  absl::Notification dropped;
  auto source = std::make_shared<FakeSource>(dropped);
  source->Arrive();
  poller.Add(std::move(source));
  added.Notify();
  EXPECT_TRUE(dropped.WaitForNotificationWithTimeout(kSoon));
}

// A mutex alone would go to the background thread, which locks again long before a sleeping thread is awake.
TEST(BackgroundPollerTest, TakeAllWaitsForNoMoreThanTheTurnUnderWay) {
  BackgroundPoller poller({WaitMode::kHybrid, absl::Seconds(1)});
  std::atomic<pid_t> taker = 0;
  bool waits = false;  // the taker, for the lock. Only the background thread touches this, and the next.
  int polls = 0;       // since then
  const auto endless = std::make_shared<Endless>([&] {
    if (waits) {
      ++polls;
    } else if (taker != 0) {
      waits = ThreadState(taker).IsFoundAsleep(After(kSoon));
    }
  });
  poller.Add(endless);
  std::vector<std::shared_ptr<Source>> taken;
  std::thread takes([&] {
    taker = gettid();
    taken = poller.TakeAll();
  });
  takes.join();
  EXPECT_THAT(taken, ElementsAre(endless));
  EXPECT_LE(polls, 2) << "of the turn that is under way";
}

TEST(BackgroundPollerTest, WithoutADescriptorItLooksEveryFewMilliseconds) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  BackgroundPoller poller;
  absl::Notification first_dropped;
  absl::Notification second_dropped;
  auto first = std::make_shared<FakeSource>(first_dropped);
  auto second = std::make_shared<FakeSource>(second_dropped);
  second->Arrive();
  const DescriptorLimit none(0);
  poller.Add(first);
  while (first->polls() == 0) std::this_thread::yield();  // after that, only a wake-up or a time limit helps
  poller.Add(std::move(second));
  EXPECT_TRUE(second_dropped.WaitForNotificationWithTimeout(kSoon));
  first->Arrive();
  first = nullptr;
  EXPECT_TRUE(first_dropped.WaitForNotificationWithTimeout(kSoon));
}

}  // namespace
}  // namespace skein::wait
