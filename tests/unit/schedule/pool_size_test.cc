#include "core/schedule/pool_size.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace skein::schedule {
namespace {

constexpr auto kPatience = PoolSize::kPatience;

// Thoughts of so many percent until it wishes for something, at most `most`; how many there were, 0 for none.
uint32_t ThoughtsUntil(PoolWish wish, PoolSize& pool, uint32_t percent, size_t queue_pairs, uint32_t most = 1 << 20) {
  for (uint32_t thought = 1; thought <= most; ++thought) {
    const PoolWish wished = pool(percent, queue_pairs);
    if (wished == wish) return thought;
    EXPECT_EQ(wished, PoolWish::kAsIs);
  }
  return 0;
}
uint32_t ThoughtsUntilFewer(PoolSize& pool, size_t queue_pairs = 2) {
  return ThoughtsUntil(PoolWish::kFewer, pool, 0, queue_pairs);
}

TEST(PoolSizeTest, WhatOneThoughtDecides) {
  const struct {
    uint32_t opens_at;
    uint32_t percent;
    PoolWish wish;
  } cases[] = {
      {12, 0, PoolWish::kAsIs}, {12, 11, PoolWish::kAsIs},  {12, 12, PoolWish::kMore},
      {0, 0, PoolWish::kMore},  {100, 99, PoolWish::kAsIs}, {100, 100, PoolWish::kMore},
  };
  for (const auto& each : cases) {
    PoolSize pool(each.opens_at);
    EXPECT_EQ(pool(each.percent, 1), each.wish) << each.percent << " of " << each.opens_at;
  }
}

TEST(PoolSizeTest, OneGoesAfterManyCalmThoughts) {
  PoolSize pool;
  EXPECT_EQ(ThoughtsUntilFewer(pool), kPatience);
  EXPECT_EQ(ThoughtsUntilFewer(pool), kPatience) << "and then the next";
}

TEST(PoolSizeTest, TheLastOneStays) {
  PoolSize pool;
  EXPECT_EQ(ThoughtsUntil(PoolWish::kFewer, pool, 0, /*queue_pairs=*/1, /*most=*/10 * kPatience), 0u);
  EXPECT_EQ(ThoughtsUntilFewer(pool), kPatience) << "calm counts from when there are two";
}

TEST(PoolSizeTest, CalmIsInARow) {
  PoolSize pool(12);
  for (const uint32_t percent : {3u, 11u, 12u}) {
    EXPECT_EQ(ThoughtsUntil(PoolWish::kFewer, pool, 2, 2, kPatience - 1), 0u);
    EXPECT_NE(pool(percent, 2), PoolWish::kFewer) << percent;
  }
  EXPECT_EQ(ThoughtsUntil(PoolWish::kFewer, pool, 2, 2), kPatience);
}

// Streams that never meet on two queue pairs, and always on one.
TEST(PoolSizeTest, WhoIsMissedAtOnceGoesLessAndLessOften) {
  PoolSize pool;
  for (uint32_t patience = kPatience; patience < PoolSize::kMostPatience; patience *= 2) {
    EXPECT_EQ(ThoughtsUntilFewer(pool), patience);
    EXPECT_EQ(pool(50, 1), PoolWish::kMore);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ThoughtsUntilFewer(pool), PoolSize::kMostPatience);
    EXPECT_EQ(pool(50, 1), PoolWish::kMore);
  }
}

TEST(PoolSizeTest, WhoIsMissedMuchLaterWasRightToGo) {
  PoolSize pool;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ThoughtsUntilFewer(pool), kPatience);
    for (uint32_t thought = 0; thought < kPatience; ++thought) pool(5, 1);
    EXPECT_EQ(pool(50, 1), PoolWish::kMore);
  }
}

TEST(PoolSizeTest, PatienceIsForgottenWhenNobodyIsMissed) {
  PoolSize pool;
  for (int i = 0; i < 3; ++i) {
    ThoughtsUntilFewer(pool);
    pool(50, 1);
  }
  EXPECT_EQ(ThoughtsUntilFewer(pool, 9), 8 * kPatience);
  EXPECT_EQ(ThoughtsUntilFewer(pool, 8), 8 * kPatience);
  EXPECT_EQ(ThoughtsUntilFewer(pool, 7), 4 * kPatience);
  EXPECT_EQ(ThoughtsUntilFewer(pool, 6), 2 * kPatience);
  EXPECT_EQ(ThoughtsUntilFewer(pool, 5), kPatience);
  EXPECT_EQ(ThoughtsUntilFewer(pool, 4), kPatience);
}

}  // namespace
}  // namespace skein::schedule
