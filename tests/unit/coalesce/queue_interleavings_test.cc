// The queue's own code in every interleaving of a few threads. Then the same with the queue broken, in every way that
// its policy allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "core/coalesce/combining_queue.h"
#include "tests/support/interleavings.h"
#include "tests/unit/coalesce/queue_scenarios.h"

namespace skein::coalesce {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(QueueInterleavings, TwoThreadsInEveryOrder) {
  for (const Scenario* scenario : {&kTwoOnce, &kTwoHelp, &kHandOver, &kTwice}) {
    ExpectHolds(*scenario);
  }
}

TEST(QueueInterleavings, MoreThreadsWithFewPreemptions) {
  for (const Scenario* scenario : {&kTwoTwice, &kThree, &kThreeHelp}) {
    ExpectHolds(*scenario, {.preemptions = 2});
  }
  ExpectHolds(kThreeTwice, {.preemptions = 1});
}

// Hands over, or frees the queue, without waiting for who has exchanged the tail to link itself.
struct NeverAwaits : interleavings::Atomics {
  template <class T>
  static T Await(const Atomic<T>& atom, T, std::memory_order order) {
    return atom.load(order);
  }
};
struct NeverWakes : interleavings::Atomics {
  static void Unpark(const void*) {}
};
// Sleeps without a look at what it has been told meanwhile.
struct SleepsBlindly : interleavings::Atomics {
  static void Park(const Atomic<uint32_t>& word, uint32_t) {
    interleavings::Atomics::Park(word, word.load(std::memory_order_relaxed));
  }
};

TEST(QueueInterleavings, ABrokenQueueIsCaught) {
  EXPECT_THAT(ExploreScenario<NeverAwaits>(kTwoOnce).failure, HasSubstr("ends an atomic that another may yet touch"));
  EXPECT_THAT(ExploreScenario<NeverWakes>(kTwoOnce).failure, HasSubstr("deadlock"));
  EXPECT_THAT(ExploreScenario<SleepsBlindly>(kTwoOnce).failure, HasSubstr("deadlock"));
}

// Whether each memory order is as strong as it must be is known if the next weaker one is caught.
TEST(QueueInterleavings, NoMemoryOrderIsStrongerThanNeeded) {
  const std::vector<const Scenario*> scenarios = {&kTwoOnce, &kHandOver, &kTwoHelp, &kTwice};
  std::vector<interleavings::Weakening> weakenings;
  for (const Scenario* scenario : scenarios) {
    const Result result = ExploreScenario(*scenario);
    ASSERT_THAT(result.failure, IsEmpty());
    for (const interleavings::Weakening& found : result.weakenings) {
      if (std::find(weakenings.begin(), weakenings.end(), found) == weakenings.end()) weakenings.push_back(found);
    }
  }
  std::cout << weakenings.size() << " weaker orders" << std::endl;
  EXPECT_GT(weakenings.size(), 10);
  for (const interleavings::Weakening& weakening : weakenings) {
    const bool caught = std::any_of(scenarios.begin(), scenarios.end(), [&](const Scenario* scenario) {
      return !ExploreScenario(*scenario, {.weakening = weakening}).failure.empty();
    });
    EXPECT_TRUE(caught) << "combining_queue.h:" << weakening.line << " may as well be "
                        << static_cast<int>(weakening.order);
  }
}

}  // namespace
}  // namespace skein::coalesce
