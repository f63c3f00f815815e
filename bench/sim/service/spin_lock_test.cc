#include "bench/sim/service/spin_lock.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

using absl::Nanoseconds;

class SpinLockTest : public ::testing::Test {
 protected:
  absl::Duration Take(int at, size_t taker, size_t others = 0) {
    return lock_.Take(absl::UnixEpoch() + Nanoseconds(at), taker, Nanoseconds(100), others) - absl::UnixEpoch();
  }
  const CpuCosts costs_{};
  SpinLock lock_{costs_};
};

TEST_F(SpinLockTest, OfOneThreadCostsAnAtomicOperation) {
  Take(0, 1);
  EXPECT_EQ(Take(1000, 1), Nanoseconds(1100) + costs_.swap);
}

TEST_F(SpinLockTest, WhatItGuardsComesFromTheThreadThatHadIt) {
  Take(0, 1);
  EXPECT_EQ(Take(1000, 2), Nanoseconds(1100) + costs_.swap + 2 * costs_.shared_line);
}

TEST_F(SpinLockTest, ThoseThatWaitComeInTurnAndPassItsLineRound) {
  const absl::Duration first = Take(0, 1);
  const absl::Duration alone = Nanoseconds(100) + costs_.swap + 2 * costs_.shared_line;
  EXPECT_EQ(first, alone);
  const absl::Duration second = Take(0, 2);
  EXPECT_EQ(second, first + alone + costs_.shared_line);
  EXPECT_EQ(Take(0, 3), second + alone + 2 * costs_.shared_line);
}

TEST_F(SpinLockTest, ThreadsThatOnlyLookHaveItsLine) {
  const absl::Duration first = Take(0, 1);
  EXPECT_EQ(Take(1000, 1, 5), Nanoseconds(1100) + costs_.swap + 5 * costs_.shared_line);
  EXPECT_LT(first, Nanoseconds(1000));
}

}  // namespace
}  // namespace skein::bench
