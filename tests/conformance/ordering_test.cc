// What a program that polls its memory may conclude from what it sees there.
#include <atomic>
#include <random>
#include <thread>

#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::ElementsAre;

uint64_t LoadAcquire(std::byte* at) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at)).load(std::memory_order_acquire);
}

class Ordering : public Conformance {
 protected:
  // What it waits for is the reader's thread, which only looks at memory; polling is done here.
  bool PumpUntil(const std::atomic<uint64_t>& progress, uint64_t value) {
    return Eventually([&] { return progress.load(std::memory_order_acquire) >= value; });
  }
};

// A reader on its own thread trusts the canary: FLOCK's receive path.
TEST_P(Ordering, WhoSeesTheLastAlignedWordSeesTheWriteBeforeIt) {
  constexpr uint64_t kRounds = 300;
  constexpr size_t kEnd = 8192;  // messages end here, their last word is the canary
  std::mt19937_64 random(10);
  std::vector<size_t> sizes(kRounds + 1);
  for (size_t& size : sizes) size = 8 + random() % 4000;
  std::atomic<uint64_t> read{0};
  std::atomic<uint64_t> stop_at{kRounds};
  uint64_t torn = 0;

  std::thread reader([&] {
    for (uint64_t round = 1; round <= stop_at.load(); ++round) {
      while (LoadAcquire(b().at(kEnd - 8)) != round) {
        if (round > stop_at.load()) return;
        std::this_thread::yield();
      }
      for (size_t at = kEnd - sizes[round]; at < kEnd - 8; ++at) torn += *b().at(at) != static_cast<std::byte>(round);
      read.store(round, std::memory_order_release);
    }
  });
  for (uint64_t round = 1; round <= kRounds; ++round) {
    std::memset(a().at(0), static_cast<int>(round & 0xff), sizes[round]);
    a().PutWord(sizes[round] - 8, round);
    const absl::Status posted =
        Post(*a().queue_pair, Opcode::kWrite, a().Local(0, sizes[round]), b().Remote(kEnd - sizes[round]), round);
    if (!posted.ok() || !PumpUntil(read, round)) {
      ADD_FAILURE() << "round " << round << " was not seen; " << posted;
      stop_at = 0;
      break;
    }
    if (PollOne(a()).status != CompletionStatus::kSuccess) {
      stop_at = 0;
      break;
    }
  }
  reader.join();
  EXPECT_EQ(torn, 0u) << "bytes that came after the canary";
}

// Of many WRITEs on their way at once, none is seen before an earlier one.
TEST_P(Ordering, WhoSeesALaterWriteSeesTheEarlierOnes) {
  constexpr uint64_t kRounds = 100;
  constexpr size_t kSlots = 16;
  constexpr size_t kSlotBytes = 256;
  std::atomic<uint64_t> read{0};
  std::atomic<bool> stop{false};
  uint64_t overtaken = 0;

  std::thread reader([&] {
    const auto canary = [&](size_t slot) { return LoadAcquire(b().at((slot + 1) * kSlotBytes - 8)); };
    for (uint64_t round = 1; round <= kRounds; ++round) {
      for (size_t newest = 0; newest < kSlots && !stop;) {
        // From the back: the last slot that is there vouches for all before.
        size_t slot = kSlots;
        while (slot > newest && canary(slot - 1) != round) --slot;
        for (size_t before = newest; before + 1 < slot; ++before) overtaken += canary(before) != round;
        newest = std::max(newest, slot);
        std::this_thread::yield();
      }
      if (stop) return;
      read.store(round, std::memory_order_release);
    }
  });
  for (uint64_t round = 1; round <= kRounds && !stop; ++round) {
    std::vector<Segment> segments(kSlots);
    std::vector<SendRequest> batch;
    for (size_t slot = 0; slot < kSlots; ++slot) {
      a().PutWord((slot + 1) * kSlotBytes - 8, round);
      segments[slot] = a().Local(slot * kSlotBytes, kSlotBytes);
      batch.push_back(Request(Opcode::kWrite, {&segments[slot], 1}, b().Remote(slot * kSlotBytes), slot,
                              /*signaled=*/slot == kSlots - 1));
    }
    const absl::Status posted = a().queue_pair->PostSend(batch);
    if (!posted.ok() || !PumpUntil(read, round) || PollOne(a()).status != CompletionStatus::kSuccess) {
      ADD_FAILURE() << "round " << round << " was not seen; " << posted;
      stop = true;
    }
  }
  reader.join();
  EXPECT_EQ(overtaken, 0u);
}

TEST_P(Ordering, RequestsOfOneQueuePairExecuteInTheOrderPosted) {
  // Each step sees the one before, whatever its opcode.
  const Segment one = a().Local(0, 8);
  const Segment two = a().Local(8, 8);
  const Segment seen_by_read = a().Local(16, 8);
  const Segment seen_by_add = a().Local(24, 8);
  const Segment seen_by_swap = a().Local(32, 8);
  const Segment seen_last = a().Local(40, 8);
  a().PutWord(0, 1);
  a().PutWord(8, 2);
  SendRequest add = Request(Opcode::kFetchAdd, {&seen_by_add, 1}, b().Remote(0), 4);
  add.operand = 40;
  SendRequest swap = Request(Opcode::kCompareSwap, {&seen_by_swap, 1}, b().Remote(0), 5);
  swap.operand = 42;
  swap.swap = 43;
  const SendRequest batch[] = {Request(Opcode::kWrite, {&one, 1}, b().Remote(0), 1),
                               Request(Opcode::kRead, {&seen_by_read, 1}, b().Remote(0), 2),
                               Request(Opcode::kWrite, {&two, 1}, b().Remote(0), 3),
                               add,
                               swap,
                               Request(Opcode::kRead, {&seen_last, 1}, b().Remote(0), 6)};
  ASSERT_TRUE(a().queue_pair->PostSend(batch).ok());
  EXPECT_THAT(Ids(PollUntil(a(), 6)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(a().GetWord(16), 1u);
  EXPECT_EQ(a().GetWord(24), 2u);
  EXPECT_EQ(a().GetWord(32), 42u);
  EXPECT_EQ(a().GetWord(40), 43u);
  EXPECT_EQ(b().GetWord(0), 43u);
}

TEST_P(Ordering, AReceiveCompletesAfterTheWritesPostedBeforeIt) {
  const Segment word = a().Local(0, 8);
  for (uint64_t round = 1; round <= 50; ++round) {
    const Opcode notice = round % 2 == 0 ? Opcode::kSend : Opcode::kWriteWithImmediate;
    ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(1024, 8), round).ok());
    a().PutWord(0, round);
    const SendRequest batch[] = {
        Request(Opcode::kWrite, {&word, 1}, b().Remote(0), 1, /*signaled=*/false),
        Request(Opcode::kWrite, {&word, 1}, b().Remote(4096), 2, /*signaled=*/false),
        Request(notice, {&word, 1}, notice == Opcode::kSend ? RemoteAddress{} : b().Remote(2048), 3)};
    ASSERT_TRUE(a().queue_pair->PostSend(batch).ok());
    ASSERT_EQ(PollOne(b()).id, round);
    ASSERT_EQ(b().GetWord(0), round);
    ASSERT_EQ(b().GetWord(4096), round);
    ASSERT_EQ(PollOne(a()).id, 3u);
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Ordering, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
