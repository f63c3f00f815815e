// When a wait spins before it sleeps, case by case.
#include "core/progress/spin_budget.h"

#include "gtest/gtest.h"

namespace skein::progress {
namespace {

constexpr absl::Duration kSpin = absl::Microseconds(50);

SpinBudget Budget(WaitMode mode, int processors = 2) { return SpinBudget({mode, kSpin, processors}); }

TEST(SpinBudgetTest, ModesAndRunnableThreads) {
  struct Case {
    WaitMode mode;
    int processors;
    int runnable;
    absl::Duration expected;
  };
  const Case cases[] = {
      {WaitMode::kPoll, 2, 1, absl::InfiniteDuration()},
      {WaitMode::kPoll, 1, 9, absl::InfiniteDuration()},
      {WaitMode::kBlock, 2, 1, absl::ZeroDuration()},
      {WaitMode::kHybrid, 2, 1, kSpin},
      {WaitMode::kHybrid, 2, 2, kSpin},
      {WaitMode::kHybrid, 2, 3, absl::ZeroDuration()},
      {WaitMode::kHybrid, 1, 1, kSpin},
      {WaitMode::kHybrid, 1, 2, absl::ZeroDuration()},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(Budget(each.mode, each.processors).Begin(each.runnable), each.expected)
        << static_cast<int>(each.mode) << " " << each.processors << " " << each.runnable;
  }
}

// How many of the next waits spin, if all of them end alike.
int SpinsOf(SpinBudget& budget, int waits, bool hit) {
  int spins = 0;
  for (int i = 0; i < waits; ++i) {
    if (budget.Begin(1) == absl::ZeroDuration()) continue;
    budget.Ended(hit);
    ++spins;
  }
  return spins;
}

TEST(SpinBudgetTest, StopsWhenItDoesNotPay) {
  SpinBudget budget = Budget(WaitMode::kHybrid);
  const int until_it_stops = SpinsOf(budget, 100, false);
  EXPECT_GT(until_it_stops, 5);
  EXPECT_LT(until_it_stops, 40);
  EXPECT_EQ(SpinsOf(budget, 320, false), 10) << "one in 32 tries";
}

TEST(SpinBudgetTest, BeginsAgainWhenItPays) {
  SpinBudget budget = Budget(WaitMode::kHybrid);
  SpinsOf(budget, 1000, false);
  SpinsOf(budget, 32 * 16, true);
  EXPECT_EQ(SpinsOf(budget, 100, true), 100);
}

TEST(SpinBudgetTest, AnHourOfSleepWakesToOneTryInThirtyTwo) {
  SpinBudget budget = Budget(WaitMode::kHybrid);
  SpinsOf(budget, 100'000, false);
  int first = 0;
  while (budget.Begin(1) == absl::ZeroDuration()) ++first;
  EXPECT_LE(first, 32);
}

}  // namespace
}  // namespace skein::progress
