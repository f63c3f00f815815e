// The receiver's log by itself: what it takes for an entry, and what it refuses to open.
#include "core/durable/flush/flush_ring.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/crashing_memory.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FlushRingTest : public testing::TestWithParam<HeaderPlace> {
 protected:
  static constexpr RingShape kShape{.slot_bytes = 128, .slots = 4};

  absl::Status Open() {
    found_.clear();
    ring_.reset();
    auto ring = FlushRing::Open(memory_->Open(), kShape, GetParam(), found_);
    if (ring.ok()) ring_ = *std::move(ring);
    return ring.status();
  }
  // As a sender's WRITE would.
  void Put(uint64_t sequence, absl::string_view payload, uint64_t settled = 0) {
    const absl::Span<std::byte> slot =
        ring_->MappedSlots().subspan(SlotOf(kShape, sequence) * kShape.slot_bytes, kShape.slot_bytes);
    MakeFlushEntry(slot, GetParam(), ring_->key(), {}, sequence, settled, payload);
  }
  std::vector<uint64_t> Found() const {
    std::vector<uint64_t> sequences;
    for (const FlushEntry& entry : found_) sequences.push_back(entry.sequence);
    return sequences;
  }
  void Finish(std::vector<uint64_t> sequences) { ASSERT_TRUE(ring_->Finish(sequences).ok()); }

  std::shared_ptr<CrashingMemory> memory_ = std::make_shared<CrashingMemory>(StorageBytes(kShape));
  std::vector<FlushEntry> found_;
  std::unique_ptr<FlushRing> ring_;
};

TEST_P(FlushRingTest, ABlankStorageIsMadeARing) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(ring_->head(), 1u);
  EXPECT_EQ(ring_->next(), 1u);
  EXPECT_THAT(found_, IsEmpty());
  const LogId identity = ring_->key().identity;
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(ring_->key().identity, identity);
  EXPECT_EQ(ring_->key().epoch, 2u);
}

TEST_P(FlushRingTest, WhatIsNoRingOrAnotherOneIsLeftAsItIs) {
  memory_->bytes()[5000] = 'x';
  EXPECT_EQ(Open().code(), absl::StatusCode::kFailedPrecondition);
  memory_->bytes()[5000] = 0;
  ASSERT_TRUE(Open().ok());
  const std::string before(memory_->bytes(), memory_->size());
  std::vector<FlushEntry> found;
  const HeaderPlace other = GetParam() == HeaderPlace::kFirst ? HeaderPlace::kLast : HeaderPlace::kFirst;
  EXPECT_EQ(FlushRing::Open(memory_->Open(), kShape, other, found).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(FlushRing::Open(memory_->Open(), kShape, GetParam(), found, LogId{9}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const RingShape narrower{.slot_bytes = 128, .slots = 3};
  EXPECT_EQ(FlushRing::Open(memory_->Open(), narrower, GetParam(), found).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const RingShape larger{.slot_bytes = 128, .slots = 400};
  EXPECT_EQ(FlushRing::Open(memory_->Open(), larger, GetParam(), found).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(memory_->bytes(), memory_->size()), before);
  memory_->bytes()[20] ^= 1;
  EXPECT_EQ(Open().code(), absl::StatusCode::kDataLoss);
}

TEST_P(FlushRingTest, AnEntryCutShortEndsWhatIsFound) {
  ASSERT_TRUE(Open().ok());
  Put(1, "one");
  Put(2, "two");
  Put(3, "three");
  memory_->bytes()[SlotOffsetOf(kShape, 2) + (GetParam() == HeaderPlace::kFirst ? 66 : 58)] ^= 1;
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Found(), ElementsAre(1));
  EXPECT_EQ(ring_->next(), 2u);
  // Number 3 lies there whole. Its sender was told that it is missing, and it stays so, whatever becomes of 2.
  Put(2, "two again");
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Found(), ElementsAre(1, 2));
  Finish({1, 2});
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(ring_->next(), 3u);
}

TEST_P(FlushRingTest, WhatIsMissingAlthoughItWasSafeIsDamage) {
  ASSERT_TRUE(Open().ok());
  Put(1, "one");
  Put(2, "two");
  Put(3, "three", /*settled=*/2);
  memory_->bytes()[SlotOffsetOf(kShape, 2) + (GetParam() == HeaderPlace::kFirst ? 66 : 58)] ^= 1;
  EXPECT_EQ(Open().code(), absl::StatusCode::kDataLoss);
}

TEST_P(FlushRingTest, ALostOpeningIsDamageWhenEntriesKnowOfIt) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Open().ok());
  Put(1, "one");
  // Openings count from 0 and 1, which making wrote: this is the third after them.
  memory_->bytes()[SlotOffset(3)] ^= 2;
  EXPECT_EQ(Open().code(), absl::StatusCode::kDataLoss);
}

TEST_P(FlushRingTest, MarksThatCannotBeAreDamage) {
  ASSERT_TRUE(Open().ok());
  for (const uint64_t mark : {uint64_t{6}, uint64_t{4001}, ~uint64_t{0}}) {
    const uint64_t slot = 1;
    std::memcpy(memory_->bytes() + MarkOffset(slot), &mark, sizeof(mark));
    EXPECT_EQ(Open().code(), absl::StatusCode::kDataLoss) << mark;
  }
}

TEST_P(FlushRingTest, AMarkWhoseNextLapWouldWrapIsDamage) {
  ASSERT_TRUE(Open().ok());
  const uint64_t slot = 0;
  const uint64_t mark = ~uint64_t{0} - 3;  // slot 0's, and a lap later comes 0, a lap before slot 0's first
  ASSERT_EQ(SlotOf(kShape, mark), slot);
  std::memcpy(memory_->bytes() + MarkOffset(slot), &mark, sizeof(mark));
  EXPECT_EQ(Open().code(), absl::StatusCode::kDataLoss);
}

TEST_P(FlushRingTest, OfAnEarlierLapIsNoEntry) {
  ASSERT_TRUE(Open().ok());
  for (uint64_t sequence = 1; sequence <= 6; ++sequence) {
    Put(sequence, "x");
    ring_->Take(sequence + 1);
    Finish({sequence});
  }
  EXPECT_EQ(ring_->head(), 7u);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(ring_->head(), 7u);
  EXPECT_EQ(ring_->next(), 7u);
  EXPECT_THAT(found_, IsEmpty());
}

TEST_P(FlushRingTest, ADeadStorageStaysDead) {
  ASSERT_TRUE(Open().ok());
  Put(1, "one");
  memory_->CrashAt(0);
  EXPECT_FALSE(ring_->Persist(2, {}).ok());
  memory_->LosePower();
  EXPECT_FALSE(ring_->Persist(2, {}).ok());
  EXPECT_FALSE(ring_->Finish(std::vector<uint64_t>{1}).ok());
  EXPECT_EQ(ring_->next(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Places, FlushRingTest, testing::Values(HeaderPlace::kLast, HeaderPlace::kFirst),
                         [](const auto& info) { return info.param == HeaderPlace::kLast ? "write" : "send"; });

}  // namespace
}  // namespace skein::durable
