#include "bench/sim/migration.h"

#include <deque>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::bench {
namespace {

TEST(MigrationTest, WhatHasNothingOutstandingMovesAtOnce) {
  Migration migration(3);
  migration.MoveTo(5, /*consumed=*/0);
  EXPECT_FALSE(migration.draining());
  EXPECT_EQ(migration.queue_pair(), 5);
  migration.OnPosted(640);
  migration.MoveTo(6, /*consumed=*/640);
  EXPECT_EQ(migration.queue_pair(), 6);
}

TEST(MigrationTest, ItDrainsUntilItsLastPostIsConsumed) {
  Migration migration(3);
  migration.OnPosted(64);
  migration.OnPosted(640);
  migration.MoveTo(5, /*consumed=*/64);
  EXPECT_TRUE(migration.draining());
  EXPECT_EQ(migration.queue_pair(), 3);
  EXPECT_FALSE(migration.OnConsumed(639));
  EXPECT_TRUE(migration.OnConsumed(10'000)) << "the rest is others'";
  EXPECT_FALSE(migration.draining());
  EXPECT_EQ(migration.queue_pair(), 5);
  EXPECT_FALSE(migration.OnConsumed(10'001)) << "it moves once";
}

TEST(MigrationTest, CalledBackItPostsAgain) {
  Migration migration(3);
  migration.OnPosted(640);
  migration.MoveTo(5, /*consumed=*/0);
  migration.MoveTo(3, /*consumed=*/0);
  EXPECT_FALSE(migration.draining());
  EXPECT_EQ(migration.queue_pair(), 3);
}

TEST(MigrationTest, SentElsewhereWhileDrainingItGoesThere) {
  Migration migration(3);
  migration.OnPosted(640);
  migration.MoveTo(5, /*consumed=*/0);
  migration.MoveTo(6, /*consumed=*/0);
  EXPECT_TRUE(migration.OnConsumed(640));
  EXPECT_EQ(migration.queue_pair(), 6);
}

// The new queue pair's marks have begun anew: a large old one must not hold the next move up, nor let it pass.
TEST(MigrationTest, MarksBelongToOneQueuePair) {
  Migration migration(3);
  migration.OnPosted(1'000'000);
  migration.MoveTo(5, /*consumed=*/1'000'000);
  migration.MoveTo(6, /*consumed=*/0);
  EXPECT_EQ(migration.queue_pair(), 6);
  migration.OnPosted(64);
  migration.MoveTo(3, /*consumed=*/0);
  EXPECT_TRUE(migration.draining());
}

// One sender, moved at random over queue pairs that deliver in their own order only, in front of a receiver that
// consumes from any of them: the sequence ids arrive in order.
TEST(MigrationTest, NothingIsReordered) {
  ForEachSeed([](std::mt19937_64& random) {
    struct Pipe {
      std::deque<uint64_t> under_way;  // sequence ids; UINT64_MAX: another thread's
      uint64_t posted = 0;
      uint64_t consumed = 0;
    };
    std::vector<Pipe> pipes(1 + Draw(random, 4));
    for (Pipe& pipe : pipes) pipe.consumed = pipe.posted = Draw(random, 5000);
    Migration migration(0);
    uint64_t sent = 0;
    uint64_t received = 0;
    int moves = 0;
    const auto post = [](Pipe& pipe, uint64_t id) {
      pipe.under_way.push_back(id);
      return ++pipe.posted;
    };
    for (int step = 0; step < 5000; ++step) {
      Pipe& any = pipes[Draw(random, pipes.size() - 1)];
      switch (Draw(random, 5)) {
        case 0:
          if (!migration.draining()) migration.OnPosted(post(pipes[migration.queue_pair()], sent++));
          break;
        case 1:
          post(any, UINT64_MAX);
          break;
        case 2:
        case 3:
        case 4:
          if (any.under_way.empty()) break;
          if (any.under_way.front() != UINT64_MAX) {
            ASSERT_EQ(any.under_way.front(), received++);
          }
          any.under_way.pop_front();
          ++any.consumed;
          moves += migration.OnConsumed(pipes[migration.queue_pair()].consumed) ? 1 : 0;
          break;
        default:
          if (Draw(random, 9) > 0) break;
          migration.MoveTo(static_cast<uint16_t>(Draw(random, pipes.size() - 1)),
                           pipes[migration.queue_pair()].consumed);
      }
    }
    EXPECT_GT(received, 100u);
    EXPECT_TRUE(moves > 0 || pipes.size() == 1) << moves;
  });
}

}  // namespace
}  // namespace skein::bench
