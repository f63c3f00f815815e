// What the threads do that poll links, and when.
#include "grpc_transport/event_engine/link_poller.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/refused_shm_calls.h"
#include "tests/unit/grpc_transport/event_engine/fake_engine.h"
#include "tests/unit/grpc_transport/event_engine/wake_source.h"

namespace skein::grpc_transport {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

class LinkPollerTest : public testing::TestWithParam<WaitMode> {
 protected:
  LinkPollerTest() : user_(&poller_) {}

  std::shared_ptr<WakeSource> Watch(std::function<void()> on_message) {
    auto source = std::make_shared<WakeSource>(std::move(on_message));
    poller_.Watch(source);
    return source;
  }
  // One whose message makes `callback` ready.
  std::shared_ptr<WakeSource> WatchReady(std::function<void()> callback) {
    return Watch([this, callback] { Ready::RunSoon(engine_, callback); });
  }
  static bool Come(const absl::Notification& what) { return what.WaitForNotificationWithTimeout(kPatience); }
  // Whether it becomes true.
  static bool Becomes(const std::function<bool()>& what) {
    for (const absl::Time end = absl::Now() + kPatience; !what(); absl::SleepFor(absl::Milliseconds(1))) {
      if (absl::Now() > end) return false;
    }
    return true;
  }

  // Never destroyed, as its threads go on.
  LinkPoller& poller_ = *new LinkPoller({GetParam(), absl::Microseconds(50)});
  const std::shared_ptr<FakeEngine> engine_ = std::make_shared<FakeEngine>();
  std::optional<LinkPoller::User> user_;
  absl::Notification& go_on_ = *new absl::Notification;  // a thread of the poller's may still be in it
};
INSTANTIATE_TEST_SUITE_P(Modes, LinkPollerTest, testing::Values(WaitMode::kBlock, WaitMode::kHybrid, WaitMode::kPoll));

// Its own threads could not sleep, and would look for ever.
TEST(LinkPollerWithoutDescriptors, TheBackgroundThreadPolls) {
  for (const int call : {SYS_epoll_create1, SYS_eventfd2, SYS_epoll_ctl}) {
    static auto& pollers = *new std::vector<LinkPoller*>;  // never destroyed
    LinkPoller*& poller = pollers.emplace_back();
    Refused({call}, ENOMEM, [&] { poller = new LinkPoller({WaitMode::kBlock, absl::Microseconds(50)}); });
    ASSERT_NE(poller, nullptr) << "seccomp is not to be had";
    const LinkPoller::User user(poller);
    absl::Notification came;
    const auto source = std::make_shared<WakeSource>([&] { came.Notify(); });
    poller->Watch(source);
    source->Send();
    EXPECT_TRUE(came.WaitForNotificationWithTimeout(kPatience)) << call;
  }
}

TEST_P(LinkPollerTest, AThreadOfItsOwnRunsWhatAMessageMakesReady) {
  absl::Notification ran;
  std::thread::id thread;
  const auto source = WatchReady([&] {
    thread = std::this_thread::get_id();
    ran.Notify();
  });
  source->Send();
  ASSERT_TRUE(Come(ran));
  EXPECT_NE(thread, engine_->thread()) << "a thread less has to be woken";
}

TEST_P(LinkPollerTest, EachMessageIsFoundAlsoAfterASleep) {
  std::atomic<int> ran = 0;
  const auto source = WatchReady([&] { ++ran; });
  for (int i = 1; i <= 50; ++i) {
    source->Send();
    ASSERT_TRUE(Becomes([&] { return ran == i; })) << i;
  }
}

TEST_P(LinkPollerTest, ACallbackThatBlocksKeepsNoLinkWaiting) {
  absl::Notification blocked;
  absl::Notification over;
  const auto first = WatchReady([&] {
    blocked.Notify();
    EXPECT_TRUE(Come(go_on_));
    over.Notify();
  });
  const auto second = WatchReady([&] { go_on_.Notify(); });
  first->Send();
  ASSERT_TRUE(Come(blocked));
  second->Send();
  EXPECT_TRUE(Come(over));
}

TEST_P(LinkPollerTest, NeitherDoMoreOfThemThanItHasThreads) {
  constexpr int kBlocked = 4;
  std::atomic<int> blocked = 0;
  std::atomic<int> over = 0;
  std::vector<std::shared_ptr<WakeSource>> sources;
  // What its threads cannot run goes to the engine, whose number of threads is gRPC's business.
  std::vector<std::shared_ptr<FakeEngine>> engines;
  for (int i = 0; i < kBlocked; ++i) {
    engines.push_back(std::make_shared<FakeEngine>());
    sources.push_back(Watch([&, engine = engines.back()] {
      Ready::RunSoon(engine, [&] {
        ++blocked;
        EXPECT_TRUE(Come(go_on_));
        ++over;
      });
    }));
    sources.back()->Send();
    ASSERT_TRUE(Becomes([&] { return blocked == i + 1; })) << i;
  }
  const auto last = WatchReady([&] { go_on_.Notify(); });
  last->Send();
  EXPECT_TRUE(Becomes([&] { return over == kBlocked; }));
}

TEST_P(LinkPollerTest, AnIdleLinkIsNotPolled) {
  if (GetParam() == WaitMode::kPoll) GTEST_SKIP() << "who asks for it has a processor for that";
  absl::Notification ran;
  const auto source = WatchReady([&] { ran.Notify(); });
  source->Send();
  ASSERT_TRUE(Come(ran));
  int before = 0;
  EXPECT_TRUE(Becomes([&] {
    before = source->polls;
    absl::SleepFor(absl::Milliseconds(30));
    return source->polls == before;
  }));
}

TEST_P(LinkPollerTest, ALinkThatNobodyUsesEnds) {
  const auto source = Watch([] {});
  EXPECT_NE(user_->BusyOf(*source), nullptr);
  user_.reset();
  EXPECT_TRUE(Come(source->retired));
  user_.emplace(&poller_);
  EXPECT_TRUE(Becomes([&] { return user_->BusyOf(*source) == nullptr; }));
}

TEST_P(LinkPollerTest, WhatLingersIsStillPolledAndComesBackWithTheNextUser) {
  std::atomic<int> ran = 0;
  const auto source = Watch([&] { ++ran; });
  source->lingers = true;
  user_.reset();
  source->Send();
  EXPECT_TRUE(Becomes([&] { return ran == 1; }));
  user_.emplace(&poller_);
  EXPECT_NE(user_->BusyOf(*source), nullptr);
  source->Send();
  EXPECT_TRUE(Becomes([&] { return ran == 2; }));
}

TEST_P(LinkPollerTest, ALinkThatIsFinishedIsForgotten) {
  auto source = Watch([] {});
  source->End();
  std::weak_ptr<WakeSource> left = source;
  EXPECT_TRUE(Becomes([&] { return user_->BusyOf(*source) == nullptr; }));
  source = nullptr;
  EXPECT_TRUE(Becomes([&] { return left.expired(); }));
}

TEST_P(LinkPollerTest, AChildMadeByForkLeavesItAlone) {
  const auto source = Watch([] {});
  ASSERT_TRUE(Becomes([&] { return source->polls > 0; }));
  const pid_t child = fork();
  if (child == 0) {
    alarm(absl::ToInt64Seconds(kPatience));
    user_.reset();
    const LinkPoller::User user(&poller_);
    poller_.Watch(source);
    _exit(user_.has_value() || source->retired.HasBeenNotified() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace skein::grpc_transport
