// Threads that wait for completion queues by gRPC's own functions, which are interposed in this program. What ends here
// is a queue: that is an event which a test can make at a time of its choice.
#include "grpc_transport/event_engine/waiting_callers.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/fake_engine.h"
#include "tests/unit/grpc_transport/event_engine/wake_source.h"

namespace skein::grpc_transport {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

// Of the process, and never destroyed. In mode poll a caller spins as long as something is busy: what it returns with,
// it has found by polling.
LinkPoller& Poller() {
  static auto* const poller = [] {
    const wait::SpinPolicy policy{WaitMode::kPoll, absl::ZeroDuration()};
    auto* const made = new LinkPoller(policy);
    LetCallersPoll(made, policy);
    return made;
  }();
  return *poller;
}

gpr_timespec In(absl::Duration time, gpr_clock_type clock = GPR_CLOCK_MONOTONIC) {
  return gpr_time_add(gpr_now(clock), gpr_time_from_micros(absl::ToInt64Microseconds(time), GPR_TIMESPAN));
}
const gpr_timespec kNever = gpr_inf_future(GPR_CLOCK_REALTIME);

class Queue {
 public:
  enum class Kind { kNext, kPluck };
  explicit Queue(Kind kind = Kind::kNext)
      : queue_(kind == Kind::kNext ? grpc_completion_queue_create_for_next(nullptr)
                                   : grpc_completion_queue_create_for_pluck(nullptr)) {}
  ~Queue() {
    if (!ended_.HasBeenNotified()) End();
    grpc_completion_queue_destroy(queue_);
  }
  void End() {
    ended_.Notify();
    grpc_completion_queue_shutdown(queue_);
  }
  grpc_completion_type Next(gpr_timespec deadline) {
    return grpc_completion_queue_next(queue_, deadline, nullptr).type;
  }
  grpc_completion_type Pluck(gpr_timespec deadline) {
    return grpc_completion_queue_pluck(queue_, this, deadline, nullptr).type;
  }

 private:
  grpc_completion_queue* const queue_;
  absl::Notification ended_;
};

class WaitingCallersTest : public testing::Test {
 protected:
  WaitingCallersTest() : user_(&Poller()) { grpc_init(); }
  ~WaitingCallersTest() override {
    for (const auto& source : sources_) {
      source->End();
      while (user_.BusyOf(*source) != nullptr) absl::SleepFor(absl::Milliseconds(1));
    }
    grpc_shutdown();
  }

  // A link that is busy; its message makes `callback` ready.
  std::shared_ptr<WakeSource> NewLink(std::function<void()> callback) {
    auto source = std::make_shared<WakeSource>([this, callback] { Ready::RunSoon(engine_, callback); });
    sources_.push_back(source);
    Poller().Watch(source);
    // What the poller's threads do with a new link they have done: from now on it stays busy.
    while (source->polls == 0 || !Poller().busy_set().anybody_sleeps()) absl::SleepFor(absl::Milliseconds(1));
    user_.busy_set().Use(user_.BusyOf(*source));
    return source;
  }

  const std::shared_ptr<FakeEngine> engine_ = std::make_shared<FakeEngine>();
  LinkPoller::User user_;
  std::vector<std::shared_ptr<WakeSource>> sources_;
};

TEST_F(WaitingCallersTest, ACallerFindsByPollingWhatALinkBrings) {
  Queue queue;
  std::thread::id runner;
  const auto link = NewLink([&] {
    runner = std::this_thread::get_id();
    queue.End();
  });
  std::thread caller([&] { EXPECT_EQ(queue.Next(kNever), GRPC_QUEUE_SHUTDOWN); });
  const std::thread::id waiting = caller.get_id();
  while (link->last_poller.load() != waiting) std::this_thread::yield();
  link->Send();
  caller.join();
  EXPECT_NE(runner, engine_->thread()) << "who polls runs it";
}

TEST_F(WaitingCallersTest, SoDoesOneThatPlucks) {
  Queue queue(Queue::Kind::kPluck);
  const auto link = NewLink([&] { queue.End(); });
  std::thread caller([&] { EXPECT_EQ(queue.Pluck(kNever), GRPC_QUEUE_SHUTDOWN); });
  const std::thread::id waiting = caller.get_id();
  while (link->last_poller.load() != waiting) std::this_thread::yield();
  link->Send();
  caller.join();
}

TEST_F(WaitingCallersTest, ADeadlineEndsTheWaitByAnyClock) {
  const auto link = NewLink([] {});
  Queue next;
  Queue pluck(Queue::Kind::kPluck);
  for (const gpr_clock_type clock : {GPR_CLOCK_MONOTONIC, GPR_CLOCK_REALTIME}) {
    const absl::Time begin = absl::Now();
    EXPECT_EQ(next.Next(In(absl::Milliseconds(20), clock)), GRPC_QUEUE_TIMEOUT);
    EXPECT_EQ(pluck.Pluck(In(absl::Milliseconds(20), clock)), GRPC_QUEUE_TIMEOUT);
    EXPECT_GE(absl::Now() - begin, absl::Milliseconds(39));
  }
  const absl::Time begin = absl::Now();
  EXPECT_EQ(next.Next(gpr_time_from_millis(20, GPR_TIMESPAN)), GRPC_QUEUE_TIMEOUT);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(19));
}

TEST_F(WaitingCallersTest, ADeadlineThatHasPassedWaitsForNothing) {
  const auto link = NewLink([] {});
  Queue queue;
  EXPECT_EQ(queue.Next(gpr_inf_past(GPR_CLOCK_REALTIME)), GRPC_QUEUE_TIMEOUT);
  EXPECT_EQ(queue.Next(In(absl::Milliseconds(-5))), GRPC_QUEUE_TIMEOUT);
  queue.End();
  EXPECT_EQ(queue.Next(gpr_inf_past(GPR_CLOCK_REALTIME)), GRPC_QUEUE_SHUTDOWN) << "an event that is there is given";
}

TEST_F(WaitingCallersTest, WhatNoLinkBringsIsFoundAllTheSame) {
  const auto link = NewLink([] {});
  Queue queue;
  std::thread caller([&] { EXPECT_EQ(queue.Next(kNever), GRPC_QUEUE_SHUTDOWN); });
  const std::thread::id waiting = caller.get_id();
  while (link->last_poller.load() != waiting) std::this_thread::yield();
  queue.End();
  caller.join();
}

TEST_F(WaitingCallersTest, WithNothingBusyACallerSleepsInGrpc) {
  Queue queue;
  EXPECT_EQ(queue.Next(In(absl::Milliseconds(5))), GRPC_QUEUE_TIMEOUT);
  std::thread ends([&] { queue.End(); });
  EXPECT_EQ(queue.Next(kNever), GRPC_QUEUE_SHUTDOWN);
  ends.join();
}

TEST_F(WaitingCallersTest, TheEndOfAQueueReachesAllWhoWaitForIt) {
  Queue queue;
  const auto link = NewLink([&] { queue.End(); });
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] { EXPECT_EQ(queue.Next(kNever), GRPC_QUEUE_SHUTDOWN); });
  }
  link->Send();
  for (std::thread& caller : callers) caller.join();
}

// As a processor of authentication metadata may that asks another service.
TEST_F(WaitingCallersTest, ACallbackThatWaitsItselfKeepsNoLinkWaiting) {
  Queue outer;
  Queue inner;
  const auto second = NewLink([&] { inner.End(); });
  const auto first = NewLink([&] {
    second->Send();
    EXPECT_EQ(inner.Next(In(kPatience)), GRPC_QUEUE_SHUTDOWN);
    outer.End();
  });
  std::thread caller([&] { EXPECT_EQ(outer.Next(kNever), GRPC_QUEUE_SHUTDOWN); });
  const std::thread::id waiting = caller.get_id();
  while (first->last_poller.load() != waiting) std::this_thread::yield();
  first->Send();
  caller.join();
}

}  // namespace
}  // namespace skein::grpc_transport
