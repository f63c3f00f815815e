// What comes back to a process: completions, immediates, and what is flushed.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::CompletionStatus;
using ::testing::HasSubstr;

class ServiceCompletions : public TwoHosts {};

TEST_F(ServiceCompletions, AQueueThatOverrunsEndsThatQueuePairAlone) {
  Couple honest(one_, other_);
  Process reads(one_);
  Process does_not(other_, /*entries=*/4);
  const auto pair = NewPair(reads);
  const auto overrun = NewPair(does_not);
  ASSERT_EQ(Connect(*pair, *overrun), absl::OkStatus());
  for (int i = 0; i < 5; ++i) {
    fabric::SendRequest write = reads.Write(does_not.memory->remote(), 1);
    write.opcode = fabric::Opcode::kWriteWithImmediate;
    ASSERT_EQ(pair->PostSend({&write, 1}), absl::OkStatus());
  }
  ASSERT_TRUE(Ended(*overrun));
  EXPECT_THAT(overrun->error().message(), HasSubstr("the completion queue overran"));
  ASSERT_TRUE(Ended(*pair));
  const auto taken = Take(*does_not.completions, 16);
  for (size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].status, i < 4 ? CompletionStatus::kSuccess : CompletionStatus::kFlushed) << i;
  }
  honest.ExpectWorks();
}

TEST_F(ServiceCompletions, OfAnImmediateTheBitsTravelThatTheDeviceNames) {
  Couple couple(one_, other_);
  const uint32_t bits = couple.a.device->capabilities().immediate_bits;
  ASSERT_EQ(bits, 0x00FF0000U);
  for (const uint32_t immediate : {bits, 0U, 0x00A50000U}) {
    fabric::SendRequest write = couple.a.Write(couple.b.memory->remote(), 1);
    write.opcode = fabric::Opcode::kWriteWithImmediate;
    write.immediate = immediate;
    ASSERT_EQ(couple.to_b->PostSend({&write, 1}), absl::OkStatus());
    EXPECT_EQ(Take(*couple.b.completions, 1).at(0).immediate, immediate);
    EXPECT_EQ(Take(*couple.a.completions, 1).at(0).status, CompletionStatus::kSuccess);
  }
  for (const uint32_t immediate : {1U, 1U << 15, 1U << 24, ~0U}) {
    fabric::SendRequest write = couple.a.Write(couple.b.memory->remote(), 1);
    write.opcode = fabric::Opcode::kWriteWithImmediate;
    write.immediate = immediate;
    EXPECT_EQ(couple.to_b->PostSend({&write, 1}).code(), absl::StatusCode::kInvalidArgument);
  }
}

// The other bits name the queue pair: a process that sets them reaches no other one.
TEST_F(ServiceCompletions, TheOtherBitsOfAnImmediateAreSkeinds) {
  Couple honest(one_, other_);
  RawProcess process(one_.folder());
  Process other(other_);
  const auto pair = NewPair(other);
  ASSERT_EQ(Connect(process, *pair), absl::OkStatus());
  fabric::service::Submission write = process.Write(other.memory->remote());
  write.opcode = static_cast<uint32_t>(fabric::Opcode::kWriteWithImmediate);
  write.immediate = ~0U;
  process.Lay(write);
  process.Publish();
  const auto arrived = Take(*other.completions, 1);
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived[0].immediate, 0x00FF0000U);
  EXPECT_EQ(arrived[0].queue_pair, pair.get());
  honest.ExpectWorks();
}

TEST_F(ServiceCompletions, AMessageThatFindsNoReceiveWaitsForOne) {
  Couple couple(one_, other_);
  const auto bare = NewPair(couple.b, /*receives=*/0);
  const auto sends = NewPair(couple.a);
  ASSERT_EQ(Connect(*sends, *bare), absl::OkStatus());
  fabric::SendRequest write = couple.a.Write(couple.b.memory->remote(), 1);
  write.opcode = fabric::Opcode::kWriteWithImmediate;
  ASSERT_EQ(sends->PostSend({&write, 1}), absl::OkStatus());
  Take(*couple.a.completions, 1);
  Settle();
  fabric::Completion none;
  EXPECT_EQ(couple.b.completions->Poll({&none, 1}), 0U);
  const fabric::ReceiveRequest receive = {42, {}};
  ASSERT_EQ(bare->PostReceive({&receive, 1}), absl::OkStatus());
  EXPECT_EQ(Take(*couple.b.completions, 1).at(0).id, 42U);
}

// Nor do others wait for it, on the same completion queue.
TEST_F(ServiceCompletions, MessagesThatFindNoReceiveHoldUpNobodyElse) {
  Couple couple(one_, other_);
  const auto bare = NewPair(couple.b, /*receives=*/0);
  const auto sends = NewPair(couple.a);
  ASSERT_EQ(Connect(*sends, *bare), absl::OkStatus());
  for (const uint32_t immediate : {0x00010000U, 0x00020000U, 0x00030000U}) {
    fabric::SendRequest write = couple.a.Write(couple.b.memory->remote(), 1);
    write.opcode = fabric::Opcode::kWriteWithImmediate;
    write.immediate = immediate;
    ASSERT_EQ(sends->PostSend({&write, 1}), absl::OkStatus());
    Take(*couple.a.completions, 1);
    couple.ExpectWorks();
    if (immediate != 0x00020000U) continue;
    // Two have waited. They come in their order, and before the third.
    const fabric::ReceiveRequest receives[] = {{41, {}}, {42, {}}, {43, {}}};
    ASSERT_EQ(bare->PostReceive(receives), absl::OkStatus());
    const auto first = Take(*couple.b.completions, 2);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].id, 41U);
    EXPECT_EQ(first[0].immediate, 0x00010000U);
    EXPECT_EQ(first[0].queue_pair, bare.get());
    EXPECT_EQ(first[1].immediate, 0x00020000U);
    const auto third = [&] {
      write.immediate = 0x00040000U;
      EXPECT_EQ(sends->PostSend({&write, 1}), absl::OkStatus());
      Take(*couple.a.completions, 1);
      return Take(*couple.b.completions, 1);
    }();
    EXPECT_EQ(third.at(0).id, 43U);
    EXPECT_EQ(third.at(0).immediate, 0x00040000U);
  }
}

// As many as there may be receives wait. One more is of a peer that heeds no credits.
TEST_F(ServiceCompletions, APeerThatSendsOnWithoutReceivesEndsItsOwnQueuePair) {
  Couple couple(one_, other_);
  const auto bare = NewPair(couple.b, /*receives=*/0);
  const auto sends = NewPair(couple.a);
  ASSERT_EQ(Connect(*sends, *bare), absl::OkStatus());
  fabric::Completion none;
  for (int i = 0; i < 65; ++i) {
    EXPECT_EQ(bare->state(), fabric::QueuePairState::kReady) << i;
    fabric::SendRequest write = couple.a.Write(couple.b.memory->remote(), 1);
    write.opcode = fabric::Opcode::kWriteWithImmediate;
    ASSERT_EQ(sends->PostSend({&write, 1}), absl::OkStatus());
    Take(*couple.a.completions, 1);
    Settle();
    EXPECT_EQ(couple.b.completions->Poll({&none, 1}), 0U);
  }
  EXPECT_EQ(bare->state(), fabric::QueuePairState::kError);
  EXPECT_THAT(bare->error().message(), HasSubstr("more messages than there may be receives for"));
  EXPECT_EQ(bare->PostSend({}).code(), absl::StatusCode::kFailedPrecondition);
  couple.ExpectWorks();
}

// A message that nobody has a receive for stands before it in the queue.
TEST_F(ServiceCompletions, AQueuePairThatEndsIsFlushedAllTheSame) {
  Couple couple(one_, other_);
  const auto bare = NewPair(couple.b, /*receives=*/0);
  auto sends = NewPair(couple.a);
  ASSERT_EQ(Connect(*sends, *bare), absl::OkStatus());
  fabric::SendRequest message = couple.a.Write(couple.b.memory->remote(), 1);
  message.opcode = fabric::Opcode::kWriteWithImmediate;
  ASSERT_EQ(sends->PostSend({&message, 1}), absl::OkStatus());
  Take(*couple.a.completions, 1);
  HoldTime(true);
  const fabric::SendRequest write = couple.b.Write(couple.a.memory->remote(), 9);
  ASSERT_EQ(bare->PostSend({&write, 1}), absl::OkStatus());
  Settle();
  sends = nullptr;
  ASSERT_TRUE(Ended(*bare));
  const auto flushed = Take(*couple.b.completions, 1);
  ASSERT_EQ(flushed.size(), 1U);
  EXPECT_EQ(flushed[0].id, 9U);
  EXPECT_EQ(flushed[0].status, CompletionStatus::kFlushed);
  HoldTime(false);
  couple.ExpectWorks();
}

// One process floods; another one of its host, and of its user, goes on, over the same trunk.
TEST_F(ServiceCompletions, OneThatFloodsKeepsNobodyWaiting) {
  Couple honest(one_, other_);
  std::vector<std::unique_ptr<RawProcess>> floods;
  Process sink(other_);
  std::vector<std::unique_ptr<fabric::QueuePair>> pairs;
  for (int i = 0; i < 8; ++i) {
    floods.push_back(std::make_unique<RawProcess>(one_.folder()));
    pairs.push_back(NewPair(sink, 0));
    ASSERT_EQ(Connect(*floods.back(), *pairs.back()), absl::OkStatus());
  }
  std::atomic<bool> stop = false;
  std::thread thread([&] {
    while (!stop) {
      for (const auto& flood : floods) {
        fabric::service::CompletionHeader& completed = flood->completed.header();
        const uint64_t done = completed.published.load();
        completed.consumed.store(done);
        while (flood->laid - done < RawProcess::kDepth) flood->Lay(flood->Write(sink.memory->remote()));
        flood->Publish();
      }
    }
  });
  for (int i = 0; i < 20; ++i) honest.ExpectWorks();
  stop = true;
  thread.join();
  for (const auto& flood : floods) EXPECT_EQ(flood->end(), fabric::service::End::kOpen);
}

}  // namespace
}  // namespace skein::service
