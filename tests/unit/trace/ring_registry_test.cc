#include "core/trace/ring_registry.h"

#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

std::vector<uint64_t> DrainIds(RingRegistry& registry) {
  std::vector<uint64_t> ids;
  registry.Drain([&ids](const Record& record) { ids.push_back(record.id); });
  return ids;
}

TEST(RingRegistryTest, RingsOfThreadsThatEndedAreCollectedAndUsedAgain) {
  RingRegistry registry;
  std::set<RecordRing*> rings;
  for (uint64_t id = 0; id < 10; ++id) {
    std::thread([&registry, &rings, id] {
      RecordRing* ring = registry.Claim();
      rings.insert(ring);
      EXPECT_TRUE(ring->Push(NumberedCall(id)));
      registry.Release(ring);
    }).join();
  }
  EXPECT_EQ(rings.size(), 1);
  EXPECT_THAT(DrainIds(registry), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(RingRegistryTest, ThereAreOnlySoMany) {
  RingRegistry registry;
  std::set<RecordRing*> rings;
  for (size_t i = 0; i < RingRegistry::kMostRings; ++i) rings.insert(registry.Claim());
  EXPECT_EQ(rings.size(), RingRegistry::kMostRings);
  EXPECT_EQ(rings.count(nullptr), 0);
  EXPECT_EQ(registry.Claim(), nullptr);
  registry.Release(*rings.begin());
  EXPECT_EQ(registry.Claim(), *rings.begin());
}

TEST(RingRegistryTest, TellsHowMuchTheFullestHad) {
  RingRegistry registry;
  EXPECT_EQ(registry.Drain([](const Record&) {}), 0);
  RecordRing* first = registry.Claim();
  RecordRing* second = registry.Claim();
  for (uint64_t id = 0; id < 5; ++id) EXPECT_TRUE(second->Push(NumberedCall(id)));
  EXPECT_TRUE(first->Push(NumberedCall(9)));
  EXPECT_EQ(registry.Drain([](const Record&) {}), 5);
}

// Who takes records may be slow, and the user's.
TEST(RingRegistryTest, RingsAreClaimedWhileRecordsAreTaken) {
  RingRegistry registry;
  EXPECT_TRUE(registry.Claim()->Push(NumberedCall(1)));
  RecordRing* claimed = nullptr;
  registry.Drain([&](const Record&) { claimed = registry.Claim(); });
  EXPECT_NE(claimed, nullptr);
}

}  // namespace
}  // namespace skein::trace
