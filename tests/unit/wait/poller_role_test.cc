// The poller role's own code in every interleaving of a few threads: whatever the order, whoever waits gets what it
// waits for, and nobody sleeps for ever. Then the same with the role broken.
#include "core/wait/poller_role.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/interleavings.h"

namespace skein::wait {
namespace {

using interleavings::Check;
using interleavings::Plain;
using interleavings::Program;
using interleavings::Result;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// No time passes.
struct Timeless : interleavings::Atomics {
  struct Deadline {};
  static bool Over(const Deadline&) { return false; }
  static void Park(const Atomic<uint32_t>& word, uint32_t value, const Deadline&) {
    interleavings::Atomics::Park(word, value);
  }
};

// Several threads that wait, and a peer that sends each its own: what a source is to the role.
template <class Policy>
class World {
 public:
  explicit World(size_t waiters) : count_(waiters) {}

  void WaitOnce(size_t self) {
    BasicWaiter<Policy>& waiter = waiters_[self];
    waiter.Begin();
    asked_[self].store(true, std::memory_order_release);
    const bool done = role_.Wait(
        waiter, {}, [&] { Drive(waiter); }, [] {});
    Check(done, "no time limit, but given up");
    Check(brought_[self].Get() == 1, "let go before it was brought");
    waiter.Forget();
  }

  // Sends to all, the last one first.
  void Peer() {
    for (size_t i = count_; i-- > 0;) {
      interleavings::Atomics::Await(asked_[i], false, std::memory_order_acquire);
      sent_[i].store(true, std::memory_order_release);
      // As a doorbell does, whether anybody is asleep or not.
      bell_.exchange(static_cast<uint32_t>(i) + 1, std::memory_order_seq_cst);
      interleavings::Atomics::Unpark(&bell_);
    }
  }

  // Somebody who polls without a wait of its own, and does not take the role: what it takes must not be missed by a
  // sleeper.
  void PassBy() {
    if (!polling_.exchange(true, std::memory_order_acquire)) PollOwned();
  }

 private:
  // What has been sent goes to who waits for it.
  void PollOwned() {
    for (size_t i = 0; i < count_; ++i) {
      if (taken_[i].Get() || !sent_[i].load(std::memory_order_acquire)) continue;
      taken_[i].Set(true);
      Check(waiters_[i].TryClaim() == BasicWaiter<Policy>::Claim::kClaimed, "nobody waits for what was asked for");
      brought_[i].Set(brought_[i].Get() + 1);
      if (!waiters_[i].Complete()) continue;
      bell_.exchange(100, std::memory_order_seq_cst);
      interleavings::Atomics::Unpark(&bell_);
    }
    polling_.store(false, std::memory_order_release);
  }

  // Poll, arm (here: note the notification), look again, sleep.
  void Drive(BasicWaiter<Policy>& waiter) {
    while (!waiter.done()) {
      const uint32_t notification = bell_.load(std::memory_order_seq_cst);
      // One polls at a time; who means to sleep does not leave before it has looked (a link's Arm sees to that).
      while (polling_.exchange(true, std::memory_order_acquire)) {
        interleavings::Atomics::Await(polling_, true, std::memory_order_relaxed);
      }
      PollOwned();
      if (waiter.done() || !role_.BeginSleep(waiter)) return;
      interleavings::Atomics::Park(bell_, notification);
      role_.EndSleep(waiter);
    }
  }

  const size_t count_;
  PollerRole<Policy> role_;
  std::array<BasicWaiter<Policy>, 3> waiters_;
  std::array<Plain<int>, 3> brought_;
  interleavings::Atomic<bool> asked_[3] = {false, false, false};
  interleavings::Atomic<bool> sent_[3] = {false, false, false};
  std::array<Plain<bool>, 3> taken_;  // under polling_
  interleavings::Atomic<bool> polling_{false};
  interleavings::Atomic<uint32_t> bell_{0};
};

struct Scenario {
  size_t waiters = 2;
  bool passer_by = false;
};

template <class Policy = Timeless>
Result ExploreScenario(const Scenario& scenario, const interleavings::Options& options) {
  return interleavings::Explore(
      [&] {
        auto world = std::make_shared<World<Policy>>(scenario.waiters);
        Program program;
        for (size_t i = 0; i < scenario.waiters; ++i) program.threads.emplace_back([=] { world->WaitOnce(i); });
        program.threads.emplace_back([=] { world->Peer(); });
        if (scenario.passer_by) program.threads.emplace_back([=] { world->PassBy(); });
        return program;
      },
      options);
}

void ExpectHolds(const Scenario& scenario, const interleavings::Options& options) {
  const Result result = ExploreScenario(scenario, options);
  std::cout << scenario.waiters << " waiters: " << result.schedules << " schedules, " << result.cut_short
            << " cut short" << std::endl;
  EXPECT_THAT(result.failure, IsEmpty());
}

TEST(PollerRoleTest, NobodySleepsForEver) {
  ExpectHolds({.waiters = 1}, {});
  ExpectHolds({.waiters = 2}, {.preemptions = 1});
  ExpectHolds({.waiters = 2}, {.preemptions = 2, .late_reads = false});
  ExpectHolds({.waiters = 3}, {.preemptions = 1, .late_reads = false});
}

// A thread with the role sleeps on the descriptor while another thread completes its waiter.
TEST(PollerRoleTest, WhatOthersTakeWakesTheSleeper) {
  ExpectHolds({.waiters = 1, .passer_by = true}, {.preemptions = 2});
  ExpectHolds({.waiters = 2, .passer_by = true}, {.preemptions = 1, .late_reads = false});
}

// What is broken here the role must need.
struct NeverWakes : Timeless {
  static void Unpark(const void*) {}
};
struct SleepsBlindly : Timeless {
  static void Park(const Atomic<uint32_t>& word, uint32_t, const Deadline&) {
    interleavings::Atomics::Park(word, word.load(std::memory_order_relaxed));
  }
};

TEST(PollerRoleTest, ABrokenRoleIsCaught) {
  EXPECT_THAT(ExploreScenario<NeverWakes>({}, {.preemptions = 1}).failure, HasSubstr("deadlock"));
  EXPECT_THAT(ExploreScenario<SleepsBlindly>({}, {.preemptions = 1}).failure, HasSubstr("deadlock"));
}

// Each memory order is as strong as it must be: the next weaker one is caught. The race that matters (a look at the
// role after joining the list, a look at the list after leaving the role) is among them.
TEST(PollerRoleTest, WeakerOrdersAreCaught) {
  const interleavings::Options options{.preemptions = 1};
  const Result whole = ExploreScenario({}, options);
  ASSERT_THAT(whole.failure, IsEmpty());
  size_t caught = 0;
  for (const interleavings::Weakening& weakening : whole.weakenings) {
    interleavings::Options weaker = options;
    weaker.weakening = weakening;
    const bool found = !ExploreScenario({}, weaker).failure.empty();
    caught += found ? 1 : 0;
    if (!found) std::cout << "line " << weakening.line << " as " << static_cast<int>(weakening.order) << " passes\n";
  }
  std::cout << caught << " of " << whole.weakenings.size() << " weaker orders are caught" << std::endl;
  EXPECT_GE(caught, 4u);
}

}  // namespace
}  // namespace skein::wait
