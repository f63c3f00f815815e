#include "core/trace/record_ring.h"

#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::trace {
namespace {

Record Numbered(uint64_t id) {
  Record record;
  record.id = id;
  record.times.fill(id);  // all of it must arrive
  return record;
}

std::vector<uint64_t> DrainIds(RecordRing& ring) {
  std::vector<uint64_t> ids;
  const size_t count = ring.Drain([&ids](const Record& record) {
    EXPECT_EQ(record.times.back(), record.id);
    ids.push_back(record.id);
  });
  EXPECT_EQ(count, ids.size());
  return ids;
}

TEST(RecordRingTest, GivesWhatItGotInOrder) {
  auto ring = std::make_unique<RecordRing>();
  EXPECT_TRUE(DrainIds(*ring).empty());
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_TRUE(ring->Push(Numbered(id)));
  EXPECT_THAT(DrainIds(*ring), testing::ElementsAre(1, 2, 3));
  EXPECT_TRUE(DrainIds(*ring).empty());
}

TEST(RecordRingTest, FullItTakesNothingAndKeepsWhatItHas) {
  auto ring = std::make_unique<RecordRing>();
  for (uint64_t id = 0; id < RecordRing::kCapacity; ++id) ASSERT_TRUE(ring->Push(Numbered(id)));
  EXPECT_FALSE(ring->Push(Numbered(999'999)));
  const std::vector<uint64_t> ids = DrainIds(*ring);
  ASSERT_EQ(ids.size(), RecordRing::kCapacity);
  for (uint64_t id = 0; id < ids.size(); ++id) EXPECT_EQ(ids[id], id);
  EXPECT_TRUE(ring->Push(Numbered(1)));
}

TEST(RecordRingTest, GoesRound) {
  auto ring = std::make_unique<RecordRing>();
  uint64_t next = 0;
  for (int round = 0; round < 100; ++round) {
    for (uint64_t id = 0; id < 77; ++id) ASSERT_TRUE(ring->Push(Numbered(next + id)));
    for (const uint64_t id : DrainIds(*ring)) ASSERT_EQ(id, next++);
  }
  EXPECT_EQ(next, 7700);
}

TEST(RecordRingTest, BetweenTwoThreadsEachRecordArrivesOnceInOrderOrIsRefused) {
  constexpr uint64_t kRecords = 50'000;
  auto ring = std::make_unique<RecordRing>();
  std::vector<uint64_t> pushed;
  std::thread producer([&] {
    for (uint64_t id = 0; id < kRecords; ++id) {
      if (ring->Push(Numbered(id))) pushed.push_back(id);
    }
    while (!ring->Push(Numbered(kRecords))) std::this_thread::yield();
    pushed.push_back(kRecords);
  });
  std::vector<uint64_t> taken;
  while (taken.empty() || taken.back() != kRecords) {
    for (const uint64_t id : DrainIds(*ring)) taken.push_back(id);
    std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(taken, pushed);
}

}  // namespace
}  // namespace skein::trace
