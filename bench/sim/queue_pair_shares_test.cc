#include "bench/sim/queue_pair_shares.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::bench {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

// A scheduler and its senders, by the order they came in.
class Server {
 public:
  explicit Server(uint32_t max_active = schedule::kMaxActiveQueuePairs) : scheduler(max_active) {}
  void Add(uint16_t queue_pairs) { senders.push_back(scheduler.Add(queue_pairs).sender); }
  // An interval in which sender i reports utilisation[i], all on queue pair 0, which is always active here.
  std::vector<QueuePairShares::Activation> Interval(const std::vector<uint32_t>& utilisation) {
    for (size_t i = 0; i < senders.size(); ++i) Report(i, utilisation[i]);
    return scheduler.Redistribute();
  }
  void Report(size_t sender, uint32_t utilisation) {
    for (uint32_t part = 0; utilisation > 0; utilisation -= part) {
      part = std::min<uint32_t>(utilisation, UINT16_MAX);
      EXPECT_TRUE(scheduler.OnRenewal(senders[sender], 0, static_cast<uint16_t>(part)));
    }
  }
  std::vector<uint32_t> Shares() const {
    std::vector<uint32_t> shares;
    for (const auto sender : senders) shares.push_back(scheduler.active(sender));
    return shares;
  }
  uint32_t Sum() const {
    const std::vector<uint32_t> shares = Shares();
    return std::accumulate(shares.begin(), shares.end(), 0u);
  }

  QueuePairShares scheduler;
  std::vector<QueuePairShares::Sender> senders;
};

// The shares of senders with these pools after a whole interval of this utilisation.
std::vector<uint32_t> Shares(uint32_t max_active, const std::vector<uint16_t>& pools,
                             const std::vector<uint32_t>& utilisation) {
  Server server(max_active);
  for (const uint16_t pool : pools) server.Add(pool);
  server.scheduler.Redistribute();  // nobody is new any more
  server.Interval(utilisation);
  return server.Shares();
}

TEST(QueuePairSharesTest, Formula31) {
  struct {
    uint32_t max_active;
    std::vector<uint32_t> utilisation, active;
  } const rows[] = {
      // If it gives whole numbers, exactly those.
      {256, {1, 1}, {128, 128}},
      {256, {3, 1}, {192, 64}},
      {256, {100, 200, 700, 24}, {25, 50, 175, 6}},
      {16, {5, 5, 5, 1}, {5, 5, 5, 1}},
      // Else the nearest, so that none is left over.
      {10, {1, 1, 1}, {4, 3, 3}},
      {256, {1, 1'000'000}, {1, 255}},
      // A dormant sender has one, which is not given twice.
      {256, {0, 7}, {1, 255}},
      {256, {0, 0, 0}, {1, 1, 1}},
      {9, {2, 0, 2}, {4, 1, 4}},
      // No more than one each.
      {3, {9, 1, 0}, {1, 1, 1}},
      // Reports too large to add up count as 2^32 - 1.
      {256, {UINT32_MAX, UINT32_MAX}, {128, 128}},
  };
  for (const auto& [max_active, utilisation, active] : rows) {
    const std::vector<uint16_t> pools(utilisation.size(), 1000);
    EXPECT_THAT(Shares(max_active, pools, utilisation), ElementsAreArray(active))
        << testing::PrintToString(utilisation);
  }
}

TEST(QueuePairSharesTest, WhatOneCannotUseOthersGet) {
  EXPECT_THAT(Shares(256, {16, 1000, 1000}, {98, 1, 1}), ElementsAre(16, 120, 120));
  EXPECT_THAT(Shares(256, {16, 16, 16}, {98, 1, 1}), ElementsAre(16, 16, 16));
}

TEST(QueuePairSharesTest, ReportsBeyondAllBoundsSaturate) {
  Server server(100);
  for (int i = 0; i < 2; ++i) server.Add(1000);
  server.scheduler.Redistribute();
  for (int i = 0; i < 65'538; ++i) {  // the last takes the sum beyond 2^32 on both
    for (const uint16_t queue_pair : {0, 1}) server.scheduler.OnRenewal(server.senders[0], queue_pair, UINT16_MAX);
  }
  server.Interval({0, 1'000'000});
  EXPECT_THAT(server.Shares(), ElementsAre(99, 1));
  server.Interval({0, 1});  // nothing of it is left
  EXPECT_THAT(server.Shares(), ElementsAre(1, 99));
}

TEST(QueuePairSharesTest, AUselessReportChangesNothing) {
  Server server;
  server.Add(4);
  EXPECT_FALSE(server.scheduler.OnRenewal(server.senders[0], 4, 9));
  EXPECT_FALSE(server.scheduler.OnRenewal(server.senders[0] + 1, 0, 9));
  EXPECT_EQ(server.scheduler.active(server.senders[0] + 1), 0);
  server.Add(0);
  EXPECT_EQ(server.scheduler.active(server.senders[1]), 1) << "as a pool of one";
}

TEST(QueuePairSharesTest, ANewSenderGetsTheAverage) {
  QueuePairShares scheduler;
  EXPECT_EQ(scheduler.Add(1000).open, 256);
  EXPECT_EQ(scheduler.Add(1000).open, 128);
  EXPECT_EQ(scheduler.Add(12).open, 12);

  Server server(100);
  for (int i = 0; i < 4; ++i) server.Add(1000);
  server.scheduler.Redistribute();
  server.Interval({30, 50, 10, 0});
  EXPECT_THAT(server.Shares(), ElementsAre(33, 55, 11, 1));
  server.Add(1000);  // of three functioning ones, so with it a fourth of what the dormant one leaves
  EXPECT_THAT(server.Shares(), ElementsAre(25, 41, 8, 1, 25));
}

TEST(QueuePairSharesTest, TheAverageIsNotRounded) {
  Server server(90);
  for (int i = 0; i < 2; ++i) server.Add(1000);
  server.scheduler.Redistribute();
  server.Interval({1, 2});
  server.Add(1000);
  EXPECT_THAT(server.Shares(), ElementsAre(20, 40, 30));
}

TEST(QueuePairSharesTest, ANewSenderIsNotJudgedByAPartOfAnInterval) {
  Server server(100);
  server.Add(1000);
  server.scheduler.Redistribute();
  server.Add(1000);
  server.Interval({40, 0});
  EXPECT_THAT(server.Shares(), ElementsAre(50, 50));
  server.Interval({40, 0});
  EXPECT_THAT(server.Shares(), ElementsAre(99, 1));
}

TEST(QueuePairSharesTest, ADormantSenderWakesUp) {
  Server server(64);
  for (int i = 0; i < 2; ++i) server.Add(64);
  server.scheduler.Redistribute();
  server.Interval({10, 0});
  EXPECT_THAT(server.Shares(), ElementsAre(63, 1));
  server.Interval({10, 10});
  EXPECT_THAT(server.Shares(), ElementsAre(32, 32));
}

TEST(QueuePairSharesTest, WhoLeavesMakesSpace) {
  Server server(64);
  for (int i = 0; i < 2; ++i) server.Add(64);
  server.scheduler.Redistribute();
  server.scheduler.Remove(server.senders[0]);
  EXPECT_EQ(server.scheduler.active(server.senders[0]), 0);
  EXPECT_FALSE(server.scheduler.OnRenewal(server.senders[0], 0, 1));
  server.Report(1, 5);
  EXPECT_EQ(server.scheduler.Redistribute().size(), 32u);
  EXPECT_EQ(server.scheduler.active(server.senders[1]), 64);
}

TEST(QueuePairSharesTest, DecliningDeactivatesAndActivationIsToldOnce) {
  Server server(8);
  for (int i = 0; i < 2; ++i) server.Add(8);
  const auto sender = server.senders[0];
  const auto granted = [&](uint16_t queue_pair) { return server.scheduler.OnRenewal(sender, queue_pair, 1); };
  EXPECT_THAT(server.Shares(), ElementsAre(4, 4));
  for (const uint16_t queue_pair : {4, 5, 6, 7}) EXPECT_FALSE(granted(queue_pair)) << "active while it was alone";
  server.scheduler.Redistribute();

  // It has used 2 and 3 most: they stay, when it may keep two.
  for (const uint16_t queue_pair : {2, 2, 3, 3, 1}) EXPECT_TRUE(granted(queue_pair));
  server.Report(1, 15);
  server.scheduler.Redistribute();
  EXPECT_THAT(server.Shares(), ElementsAre(2, 6));
  EXPECT_TRUE(granted(2));
  EXPECT_TRUE(granted(3));
  EXPECT_FALSE(granted(1)) << "declined";
  EXPECT_FALSE(granted(1)) << "and no report counts from where it may not send";

  // Three again. 0 never asked, so it does not know that it was not wanted for a while: nobody is told.
  server.Report(1, 5);
  EXPECT_THAT(server.scheduler.Redistribute(), IsEmpty());
  EXPECT_THAT(server.Shares(), ElementsAre(3, 5));

  for (const uint16_t queue_pair : {0, 2, 3}) EXPECT_TRUE(granted(queue_pair));
  server.Report(1, 3);
  const std::vector<QueuePairShares::Activation> told = server.scheduler.Redistribute();
  EXPECT_THAT(server.Shares(), ElementsAre(4, 4));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].sender, sender);
  EXPECT_EQ(told[0].queue_pair, 1);
  EXPECT_TRUE(granted(0));
  EXPECT_TRUE(granted(1));
}

// Any population and history: the sum's bound, one for each, nothing left over that a functioning sender could use.
TEST(QueuePairSharesTest, SharesAreWithinBoundsAndWorkConserving) {
  constexpr int kRounds = 30;  // each adds a sender at most
  ForEachSeed([](std::mt19937_64& random) {
    const auto max_active = static_cast<uint32_t>(kRounds + Draw(random, 269));
    Server server(max_active);
    std::vector<uint16_t> pools;
    for (int round = 0; round < kRounds; ++round) {
      if (round == 0 || Draw(random, 1) == 0) {
        pools.push_back(static_cast<uint16_t>(1 + Draw(random, 63)));
        server.Add(pools.back());
        ASSERT_LE(server.Sum(), max_active);
      }
      if (pools.size() > 1 && Draw(random, 3) == 0) {
        const size_t leaver = Draw(random, pools.size() - 1);
        server.scheduler.Remove(server.senders[leaver]);
        server.senders.erase(server.senders.begin() + static_cast<std::ptrdiff_t>(leaver));
        pools.erase(pools.begin() + static_cast<std::ptrdiff_t>(leaver));
      }
      server.scheduler.Redistribute();
      std::vector<uint32_t> utilisation;
      for (size_t i = 0; i < pools.size(); ++i) {
        utilisation.push_back(Draw(random, 3) == 0 ? 0 : static_cast<uint32_t>(Draw(random, 100'000)));
      }
      // Queue pair 0 may have been dropped for others: report where it is granted.
      for (size_t i = 0; i < pools.size(); ++i) {
        for (uint16_t queue_pair = 0; queue_pair < pools[i] && utilisation[i] > 0; ++queue_pair) {
          if (!server.scheduler.OnRenewal(server.senders[i], queue_pair, 0)) continue;
          for (uint32_t left = utilisation[i]; left > 0; left -= std::min<uint32_t>(left, 60'000)) {
            server.scheduler.OnRenewal(server.senders[i], queue_pair,
                                       static_cast<uint16_t>(std::min<uint32_t>(left, 60'000)));
          }
          break;
        }
      }
      server.scheduler.Redistribute();
      const std::vector<uint32_t> shares = server.Shares();
      ASSERT_LE(server.Sum(), max_active);
      const bool spent = server.Sum() >= max_active;
      for (size_t i = 0; i < pools.size(); ++i) {
        ASSERT_GE(shares[i], 1u);
        ASSERT_LE(shares[i], pools[i]);
        ASSERT_TRUE(utilisation[i] > 0 || shares[i] == 1);
        ASSERT_TRUE(utilisation[i] == 0 || spent || shares[i] == pools[i]);
      }
    }
  });
}

TEST(QueuePairSharesTest, MoreUtilisationIsNeverLessAndEqualIsEqual) {
  ForEachSeed([](std::mt19937_64& random) {
    const size_t count = 2 + Draw(random, 30);
    const auto max_active = static_cast<uint32_t>(count + Draw(random, 299));
    const std::vector<uint16_t> pools(count, static_cast<uint16_t>(1 + Draw(random, 63)));
    std::vector<uint32_t> utilisation(count);
    for (uint32_t& each : utilisation) each = static_cast<uint32_t>(Draw(random, 5) * Draw(random, 500));
    const std::vector<uint32_t> shares = Shares(max_active, pools, utilisation);
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = 0; b < count; ++b) {
        ASSERT_TRUE(utilisation[a] != utilisation[b] || shares[a] <= shares[b] + 1);
        ASSERT_TRUE(utilisation[a] <= utilisation[b] || shares[a] >= shares[b]);
      }
    }
    const size_t one = Draw(random, count - 1);
    utilisation[one] += static_cast<uint32_t>(1 + Draw(random, 300));
    const std::vector<uint32_t> more = Shares(max_active, pools, utilisation);
    ASSERT_GE(more[one], shares[one]);
    for (size_t other = 0; other < count; ++other) {
      ASSERT_TRUE(other == one || more[other] <= shares[other]);
    }
  });
}

TEST(QueuePairSharesTest, SteadyUtilisationActivatesNothingMore) {
  ForEachSeed([](std::mt19937_64& random) {
    Server server(static_cast<uint32_t>(10 + Draw(random, 90)));
    std::vector<uint32_t> utilisation;
    for (size_t i = 0; i < 10; ++i) {
      server.Add(16);
      utilisation.push_back(static_cast<uint32_t>(1 + Draw(random, 1000)));
    }
    server.scheduler.Redistribute();
    server.Interval(utilisation);
    const std::vector<uint32_t> shares = server.Shares();
    for (int i = 0; i < 5; ++i) {
      ASSERT_THAT(server.Interval(utilisation), IsEmpty());
      ASSERT_EQ(server.Shares(), shares);
    }
  });
}

}  // namespace
}  // namespace skein::bench
