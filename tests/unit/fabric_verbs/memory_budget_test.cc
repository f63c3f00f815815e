#include "core/fabric/verbs/memory_budget.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::fabric::verbs {
namespace {

TEST(MemoryBudgetTest, WhatIsTakenIsMissingUntilItIsGivenBack) {
  MemoryBudget budget;
  std::optional<MemoryBudget::Share> first(budget.Take(60, 100).value());
  const absl::StatusOr<MemoryBudget::Share> second = budget.Take(40, 100);
  ASSERT_TRUE(second.ok());
  const absl::Status refused = budget.Take(1, 100).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(refused.message(), testing::HasSubstr("skein.rdma_memory"));
  EXPECT_TRUE(budget.Take(1, 101).ok()) << "each asks for its own limit";
  first.reset();
  EXPECT_TRUE(budget.Take(60, 100).ok());
}

TEST(MemoryBudgetTest, SharesMoveWithoutBeingGivenBackTwice) {
  MemoryBudget budget;
  {
    MemoryBudget::Share share = budget.Take(100, 100).value();
    const MemoryBudget::Share moved = std::move(share);
    EXPECT_FALSE(budget.Take(1, 100).ok());
  }
  EXPECT_TRUE(budget.Take(100, 100).ok());
}

TEST(MemoryBudgetTest, NoSizeOverflows) {
  MemoryBudget budget;
  const MemoryBudget::Share share = budget.Take(10, 100).value();
  EXPECT_FALSE(budget.Take(~uint64_t{0}, ~uint64_t{0}).ok());
  EXPECT_FALSE(budget.Take(~uint64_t{0} - 5, 100).ok());
  EXPECT_FALSE(budget.Take(1, 5).ok()) << "a limit below what is in use";
}

}  // namespace
}  // namespace skein::fabric::verbs
