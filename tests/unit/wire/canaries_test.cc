// By its canaries a reader knows message n of its ring, and nothing else for it.
#include "core/wire/message.h"
#include "gtest/gtest.h"

namespace skein::wire {
namespace {

constexpr uint64_t kSecret = 0x5ec3e7;

TEST(CanariesTest, TheHeadWordTellsTheLength) {
  const Canaries canaries(kSecret);
  for (uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, UINT64_MAX}) {
    for (size_t units : {1, 2, 1000, 0xffff}) {
      const size_t bytes = units * kMessageUnit;
      EXPECT_EQ(canaries.Length(n, canaries.HeadWord(n, bytes)), bytes) << n;
    }
  }
}

TEST(CanariesTest, AHeadWordIsNoOthers) {
  const Canaries canaries(kSecret);
  const Canaries of_another_ring(kSecret + 1);
  const uint64_t word = canaries.HeadWord(5, 128);
  for (uint64_t n = 0; n < 1000; ++n) {
    EXPECT_EQ(canaries.Length(n, word), n == 5 ? 128u : 0u) << n;
    EXPECT_EQ(of_another_ring.Length(n, word), 0u) << n;
  }
}

TEST(CanariesTest, EveryBitOfTheHeadCanaryCounts) {
  const Canaries canaries(kSecret);
  const uint64_t word = canaries.HeadWord(5, 128);
  for (int bit = 16; bit < 64; ++bit) EXPECT_EQ(canaries.Length(5, word ^ uint64_t{1} << bit), 0u) << bit;
}

TEST(CanariesTest, NoTwoTailsAreAlikeNorLikeAHead) {
  const Canaries canaries(kSecret);
  for (uint64_t n = 0; n < 100; ++n) {
    for (uint64_t other = 0; other < n; ++other) EXPECT_NE(canaries.Tail(n), canaries.Tail(other));
    EXPECT_EQ(canaries.Length(n, canaries.Tail(n)), 0u);
    EXPECT_NE(canaries.Tail(n), Canaries(kSecret + 1).Tail(n));
  }
}

// A ring of zeros, as every new one is, holds no message.
TEST(CanariesTest, ZerosAreNoMessage) {
  for (uint64_t secret = 0; secret < 1000; ++secret) EXPECT_EQ(Canaries(secret).Length(0, 0), 0u) << secret;
}

TEST(MessageSizesTest, AMessageHoldsItsItemsInWholeUnits) {
  EXPECT_EQ(MessageBytes(0), 64u);
  EXPECT_EQ(MessageBytes(32), 64u);
  EXPECT_EQ(MessageBytes(33), 128u);
  EXPECT_EQ(ItemBytes(0), 16u);
  EXPECT_EQ(ItemBytes(1), 24u);
  EXPECT_EQ(ItemBytes(8), 24u);
}

}  // namespace
}  // namespace skein::wire
