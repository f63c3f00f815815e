#include "bench/sim/thread_scheduler.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::bench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using Active = std::vector<uint16_t>;

// Sends `requests` of `size` bytes.
ThreadLoad Sends(uint64_t size, uint64_t requests, uint16_t queue_pair = UINT16_MAX) {
  return {queue_pair, size, requests, size * requests};
}
ThreadLoad Idle(uint16_t queue_pair = UINT16_MAX) { return {queue_pair, 0, 0, 0}; }

TEST(AssignThreadsTest, Algorithm1) {
  struct {
    std::vector<ThreadLoad> threads;
    uint16_t queue_pairs;
    std::vector<uint16_t> assigned;
  } const rows[] = {
      {{}, 3, {}},
      {{Sends(64, 1)}, 3, {0}},
      // By size, filled up to the quota of 400, 800 and 200 bytes.
      {{Sends(100, 2), Sends(200, 2), Sends(100, 2), Sends(200, 2)}, 3, {0, 1, 0, 2}},
      // Equal loads are spread equally.
      {{Sends(64, 9), Sends(64, 9), Sends(64, 9), Sends(64, 9), Sends(64, 9), Sends(64, 9)}, 3, {0, 0, 1, 1, 2, 2}},
      // By count where sizes are equal: the seldom ones together.
      {{Sends(64, 30), Sends(64, 10), Sends(64, 10), Sends(64, 10)}, 2, {1, 0, 0, 0}},
      // A quota that is no whole number leaves nothing beyond the last queue pair.
      {{Sends(1, 1), Sends(1, 1), Sends(1, 1), Sends(1, 2)}, 3, {0, 0, 1, 2}},
      {{Sends(0, 1), Sends(0, 1), Sends(0, 1)}, 2, {0, 1, 1}},
      // The last thread's bytes are most of all: the others' queue pairs do not stay empty for that.
      {{Sends(1, 1), Sends(1, 1), Sends(1, 1), Sends(97, 1)}, 4, {0, 1, 2, 3}},
      {{Sends(64, 5), Sends(64, 5)}, 1, {0, 0}},
  };
  for (const auto& [threads, queue_pairs, assigned] : rows) {
    Active active(queue_pairs);
    std::iota(active.begin(), active.end(), uint16_t{0});
    EXPECT_THAT(AssignThreads(threads, active), ElementsAreArray(assigned)) << "row " << &threads - &rows[0].threads;
  }
}

// The setting of 4.3.2: one thread in ten sends large requests.
TEST(AssignThreadsTest, LargeThreadsHaveTheirOwnQueuePairs) {
  std::vector<ThreadLoad> threads(29, Sends(64, 100));
  threads.insert(threads.begin() + 10, 3, Sends(16'384, 100));
  const std::vector<uint16_t> assigned = AssignThreads(threads, Active{0, 1, 2, 3, 4});
  std::set<uint16_t> large(assigned.begin() + 10, assigned.begin() + 13);
  EXPECT_EQ(large.size(), 3u);
  for (size_t i = 0; i < assigned.size(); ++i) {
    EXPECT_EQ(large.count(assigned[i]), i < 10 || i >= 13 ? 0u : 1u) << i;
  }
}

TEST(AssignThreadsTest, OnlyActiveQueuePairsAreUsedWhateverTheirNumbers) {
  const std::vector<ThreadLoad> threads = {Sends(64, 1, 3), Sends(64, 1, 9), Idle(9), Idle()};
  EXPECT_THAT(AssignThreads(threads, Active{700, 9}), ElementsAre(700, 9, 9, 700));
}

TEST(AssignThreadsTest, WithoutAnActiveQueuePairNobodyMoves) {
  EXPECT_THAT(AssignThreads({Sends(64, 1, 3), Idle(4)}, {}), ElementsAre(3, 4));
}

TEST(AssignThreadsTest, ThreadsThatSentNothingStay) {
  const std::vector<ThreadLoad> threads = {Idle(1), Idle(1), Idle(1), Idle(2)};
  EXPECT_THAT(AssignThreads(threads, Active{0, 1}), ElementsAre(1, 1, 1, 0));
}

TEST(AssignThreadsTest, AThreadGoesWhereItIsIfItsGroupDoes) {
  // Four queue pairs with four equal threads each, then without queue pair 1: only its threads have to move.
  std::vector<ThreadLoad> threads;
  for (uint16_t i = 0; i < 16; ++i) threads.push_back(Sends(64, 10, i / 4));
  const std::vector<uint16_t> assigned = AssignThreads(threads, Active{3, 2, 0});
  int moved = 0;
  for (size_t i = 0; i < threads.size(); ++i) moved += assigned[i] != threads[i].queue_pair ? 1 : 0;
  EXPECT_LE(moved, 6);
  EXPECT_THAT(std::vector<uint16_t>(assigned.begin(), assigned.begin() + 4), Each(0));
}

TEST(AssignThreadsTest, LoadsBeyondAllBoundsAreCompared) {
  const ThreadLoad most = {0, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  EXPECT_THAT(AssignThreads({most, most, most, most}, Active{5, 6}), ElementsAre(5, 5, 6, 6));
}

TEST(PlaceThreadTest, WhereTheFewestAre) {
  EXPECT_EQ(PlaceThread({3, 1, 2, 1}), 1u);
  EXPECT_EQ(PlaceThread({0}), 0u);
}

std::vector<ThreadLoad> RandomThreads(std::mt19937_64& random) {
  std::vector<ThreadLoad> threads(Draw(random, 60));
  for (ThreadLoad& thread : threads) {
    thread = Draw(random, 4) == 0 ? Idle() : Sends(uint64_t{1} << Draw(random, 17), 1 + Draw(random, 99));
    thread.queue_pair = static_cast<uint16_t>(Draw(random, 20));
  }
  return threads;
}

Active RandomActive(std::mt19937_64& random) {
  Active active;
  while (active.empty()) {
    for (uint16_t i = 0; i < 16; ++i) {
      if (Draw(random, 2) == 0) active.push_back(i);
    }
  }
  std::shuffle(active.begin(), active.end(), random);
  return active;
}

TEST(AssignThreadsTest, AnyLoadKeepsThePromises) {
  ForEachSeed([](std::mt19937_64& random) {
    for (int round = 0; round < 50; ++round) {
      const std::vector<ThreadLoad> threads = RandomThreads(random);
      const Active active = RandomActive(random);
      const std::vector<uint16_t> assigned = AssignThreads(threads, active);
      ASSERT_EQ(assigned.size(), threads.size());
      struct Kinds {
        int small = 0;
        int large = 0;
      };
      std::map<uint16_t, Kinds> at;
      size_t busy = 0;
      for (size_t i = 0; i < threads.size(); ++i) {
        ASSERT_THAT(active, testing::Contains(assigned[i]));
        if (threads[i].requests == 0) continue;
        ++busy;
        ++(threads[i].median_bytes < kLargeBytes ? at[assigned[i]].small : at[assigned[i]].large);
      }
      for (const auto& [queue_pair, kinds] : at) {
        ASSERT_TRUE(active.size() == 1 || kinds.small == 0 || kinds.large == 0);
      }
      ASSERT_EQ(at.size(), std::min(busy, active.size())) << "all are used";
      ASSERT_EQ(AssignThreads(threads, active), assigned) << "the same again";
    }
  });
}

TEST(AssignThreadsTest, ScheduledTwiceNobodyMovesTwice) {
  ForEachSeed([](std::mt19937_64& random) {
    std::vector<ThreadLoad> threads = RandomThreads(random);
    const Active active = RandomActive(random);
    const std::vector<uint16_t> assigned = AssignThreads(threads, active);
    for (size_t i = 0; i < threads.size(); ++i) threads[i].queue_pair = assigned[i];
    ASSERT_EQ(AssignThreads(threads, active), assigned);
  });
}

// Among queue pairs of one kind the load differs by no more than the largest thread's, and one's rounding.
TEST(AssignThreadsTest, QueuePairsCarrySimilarLoads) {
  ForEachSeed([](std::mt19937_64& random) {
    std::vector<ThreadLoad> threads(60);
    for (ThreadLoad& thread : threads) thread = Sends(64, 1 + Draw(random, 20));
    const std::vector<uint16_t> assigned = AssignThreads(threads, Active{0, 1, 2, 3});
    std::vector<uint64_t> load(4);
    for (size_t i = 0; i < threads.size(); ++i) load[assigned[i]] += threads[i].bytes;
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*most - *least, 2 * 21 * 64u);
  });
}

TEST(RequestStatsTest, MedianByPowersOfTwo) {
  struct {
    std::vector<uint64_t> sizes;
    uint64_t median;
  } const rows[] = {
      {{}, 0},
      {{0}, 0},
      {{1}, 1},
      {{100}, 64},
      {{100, 5000}, 64},
      {{5000, 100, 4096}, 4096},
      {{4095}, 2048},
      {{0, 0, 9}, 0},
      {{uint64_t{1} << 32}, uint64_t{1} << 32},
      {{UINT64_MAX, UINT64_MAX}, uint64_t{1} << 32},
  };
  for (const auto& [sizes, median] : rows) {
    RequestStats stats;
    for (const uint64_t size : sizes) stats.Add(size);
    EXPECT_EQ(stats.MedianBytes(), median) << testing::PrintToString(sizes);
    EXPECT_EQ(stats.requests(), sizes.size());
  }
}

TEST(RequestStatsTest, BytesSaturate) {
  RequestStats stats;
  stats.Add(UINT64_MAX);
  EXPECT_EQ(stats.bytes(), UINT64_MAX);
  stats.Add(7);
  EXPECT_EQ(stats.bytes(), UINT64_MAX);
}

// The exact median is in the same power of two.
TEST(RequestStatsTest, MedianOfAnySizes) {
  ForEachSeed([](std::mt19937_64& random) {
    RequestStats stats;
    std::vector<uint64_t> sizes(1 + Draw(random, 200));
    for (uint64_t& size : sizes) stats.Add(size = 1 + (random() >> (32 + Draw(random, 31))));
    std::sort(sizes.begin(), sizes.end());
    const uint64_t exact = sizes[(sizes.size() - 1) / 2];
    EXPECT_LE(stats.MedianBytes(), exact);
    EXPECT_GT(stats.MedianBytes() * 2, exact);
  });
}

}  // namespace
}  // namespace skein::bench
