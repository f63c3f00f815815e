// When a wait spins before it sleeps, case by case.
#include "core/wait/spin_budget.h"

#include "gtest/gtest.h"

namespace skein::wait {
namespace {

constexpr absl::Duration kSpin = absl::Microseconds(50);

SpinBudget Budget(WaitMode mode) { return SpinBudget({mode, kSpin}); }

TEST(SpinBudgetTest, TheModeSaysHowLongAWaitSpins) {
  EXPECT_EQ(Budget(WaitMode::kPoll).Begin(), absl::InfiniteDuration());
  EXPECT_EQ(Budget(WaitMode::kHybrid).Begin(), kSpin);
  EXPECT_EQ(Budget(WaitMode::kBlock).Begin(), absl::ZeroDuration());
}

// How many of the next waits spin, if all of them end alike.
int SpinsOf(SpinBudget& budget, int waits, bool hit) {
  int spins = 0;
  for (int i = 0; i < waits; ++i) {
    if (budget.Begin() == absl::ZeroDuration()) continue;
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
  while (budget.Begin() == absl::ZeroDuration()) ++first;
  EXPECT_LE(first, 32);
}

}  // namespace
}  // namespace skein::wait
