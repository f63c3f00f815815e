#include "bench/sim/service/memory.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

TEST(MemoryTest, QueuePairsHavePowersOfTwo) {
  EXPECT_EQ(QueuePairBytes(128, 128), 128 * 64 + 128 * 16 + 256 * 64);
  EXPECT_EQ(QueuePairBytes(100, 70), 128 * 64 + 128 * 16 + 256 * 64);
}

TEST(MemoryTest, GrowsWithConnectionsByTheServiceAsWellAndByHostsOnce) {
  const uint64_t one = ServiceBytes(1, 3, 3);
  EXPECT_EQ(ServiceBytes(2, 6, 3) - one, one - ServiceBytes(0, 0, 3));
  EXPECT_LT(ServiceBytes(1, 1000, 1), OwnBytes(1000));
  EXPECT_GT(ServiceBytes(1, 1000, 1), OwnBytes(1000) / 2);
}

TEST(MemoryTest, RingsAreMostOfIt) { EXPECT_GT(RingBytes(1), 50 * OwnBytes(1)); }

}  // namespace
}  // namespace skein::bench
