// Peers are forgotten when their time is over, and there are never more than the bound.
#include "core/connect/peer_cache.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein::connect {
namespace {

constexpr size_t kBound = 4096;
const absl::Time kStart = absl::FromUnixSeconds(1'000'000);
const absl::Time kEnd = kStart + absl::Seconds(60);

std::string Peer(size_t number) { return absl::StrCat("ipv4:127.0.0.1:", number); }

void AddMany(PeerCache& cache, size_t from, size_t count, absl::Time until, absl::Time now) {
  for (size_t i = from; i < from + count; ++i) cache.Add(Peer(i), until, now);
}

size_t CountOf(PeerCache& cache, size_t from, size_t count, absl::Time now) {
  size_t there = 0;
  for (size_t i = from; i < from + count; ++i) there += cache.Contains(Peer(i), now) ? 1 : 0;
  return there;
}

TEST(PeerCache, KnowsNobodyAtFirst) {
  PeerCache cache;
  EXPECT_FALSE(cache.Contains(Peer(1), kStart));
}

TEST(PeerCache, RemembersUntilTheTimeIsOver) {
  PeerCache cache;
  cache.Add(Peer(1), kEnd, kStart);
  EXPECT_TRUE(cache.Contains(Peer(1), kStart));
  EXPECT_FALSE(cache.Contains(Peer(2), kStart));
  EXPECT_TRUE(cache.Contains(Peer(1), kEnd - absl::Nanoseconds(1)));
  EXPECT_FALSE(cache.Contains(Peer(1), kEnd));
  EXPECT_FALSE(cache.Contains(Peer(1), kStart)) << "it is forgotten, not hidden";
}

// The option's lowest value switches the cache off.
TEST(PeerCache, NoTimeIsNoEntry) {
  PeerCache cache;
  cache.Add(Peer(1), kStart, kStart);
  EXPECT_FALSE(cache.Contains(Peer(1), kStart));
}

TEST(PeerCache, LastWordCounts) {
  PeerCache cache;
  cache.Add(Peer(1), kEnd, kStart);
  cache.Add(Peer(1), kEnd + absl::Seconds(30), kStart + absl::Seconds(30));
  EXPECT_TRUE(cache.Contains(Peer(1), kEnd));
}

TEST(PeerCache, WhenFullOfTheLivingTakesNobodyElse) {
  PeerCache cache;
  AddMany(cache, 0, kBound, kEnd, kStart);
  EXPECT_EQ(CountOf(cache, 0, kBound, kStart), kBound) << "all that the bound allows";
  cache.Add(Peer(kBound), kEnd, kStart);
  EXPECT_FALSE(cache.Contains(Peer(kBound), kStart));
  EXPECT_EQ(CountOf(cache, 0, kBound, kStart), kBound) << "and nobody was driven out";
}

TEST(PeerCache, WhenFullMakesSpaceOfTheExpiredOnly) {
  PeerCache cache;
  AddMany(cache, 0, kBound - 1, kEnd, kStart);
  cache.Add(Peer(kBound - 1), kEnd + absl::Seconds(1), kStart);
  AddMany(cache, kBound, kBound, kEnd + absl::Seconds(60), kEnd);
  EXPECT_EQ(CountOf(cache, kBound, kBound, kEnd), kBound - 1);
  EXPECT_TRUE(cache.Contains(Peer(kBound - 1), kEnd)) << "it had a second left";
}

}  // namespace
}  // namespace skein::connect
