// SEND and the receives it meets.
#include "absl/strings/str_cat.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

using SendReceive = Conformance;

TEST_P(SendReceive, MessagesMeetReceivesInOrder) {
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(i * 64, 64), 100 + i).ok());
  }
  for (uint64_t i = 0; i < 10; ++i) {
    a().Put(i * 64, absl::StrCat("message ", i));
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(i * 64, 9), {}, i).ok());
  }
  const auto sent = PollUntil(a(), 10);
  const auto received = PollUntil(b(), 10);
  ASSERT_THAT(sent, SizeIs(10));
  ASSERT_THAT(received, SizeIs(10));
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(sent[i].id, i);
    EXPECT_EQ(sent[i].status, CompletionStatus::kSuccess);
    EXPECT_EQ(sent[i].opcode, Opcode::kSend);
    EXPECT_EQ(sent[i].queue_pair, a().queue_pair.get());
    EXPECT_EQ(received[i].id, 100 + i);
    EXPECT_EQ(received[i].status, CompletionStatus::kSuccess);
    EXPECT_EQ(received[i].opcode, Opcode::kReceive);
    EXPECT_EQ(received[i].queue_pair, b().queue_pair.get());
    EXPECT_EQ(received[i].bytes, 9u);
    EXPECT_EQ(b().Get(i * 64, 9), absl::StrCat("message ", i));
  }
  ExpectQuiet();
}

TEST_P(SendReceive, GathersAndLeavesTheRestOfTheBuffer) {
  std::memset(b().at(0), '-', 32);
  a().Put(8, "ga");
  a().Put(0, "ther");
  const Segment segments[] = {a().Local(8, 2), a().Local(0, 0), a().Local(0, 4)};
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 16)).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Request(Opcode::kSend, segments)).ok());
  EXPECT_EQ(PollOne(b()).bytes, 6u);
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(b().Get(0, 32), "gather--------------------------");
}

TEST_P(SendReceive, AMessageMayFillItsBufferOrBeEmpty) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{64}, size_t{4096}}) {
    ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, size)).ok());
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, size)).ok());
    const Completion received = PollOne(b());
    EXPECT_EQ(received.status, CompletionStatus::kSuccess);
    EXPECT_EQ(received.bytes, size);
    EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  }
}

TEST_P(SendReceive, AMegabyteArrivesWhole) {
  const size_t size = std::min<uint64_t>((1 << 20) + 5, a().device->capabilities().max_message_bytes);
  End big_a(a().device, size);
  End big_b(b().device, size);
  for (size_t i = 0; i < size; ++i) *big_a.at(i) = static_cast<std::byte>(i * 31 >> 3);
  ASSERT_TRUE(PostReceive(*b().queue_pair, big_b.Local(0, size)).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, big_a.Local(0, size)).ok());
  const Completion received = PollOne(b());
  ASSERT_EQ(received.status, CompletionStatus::kSuccess);
  EXPECT_EQ(received.bytes, size);
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(big_b.Get(0, size), big_a.Get(0, size));
}

TEST_P(SendReceive, ASendWaitsForAReceive) {
  for (uint64_t i = 0; i < 3; ++i) {
    a().PutWord(i * 8, i);
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(i * 8, 8), {}, i).ok());
  }
  ExpectQuiet();
  EXPECT_EQ(a().queue_pair->state(), QueuePairState::kReady);
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(64, 8), 10 + i).ok());
    EXPECT_EQ(PollOne(b()).id, 10 + i);
    EXPECT_EQ(b().GetWord(64), i);
    EXPECT_EQ(PollOne(a()).id, i);
    ExpectQuiet();
  }
}

TEST_P(SendReceive, WhatIsPostedBehindAWaitingSendWaitsToo) {
  a().PutWord(0, 5);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, 1).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), b().Remote(128), 2).ok());
  const Segment local = a().Local(64, 8);
  SendRequest add = Request(Opcode::kFetchAdd, {&local, 1}, b().Remote(256), 3);
  add.operand = 1;
  ASSERT_TRUE(Post(*a().queue_pair, add).ok());
  ExpectQuiet();
  EXPECT_EQ(b().GetWord(128), 0u) << "the WRITE overtook the SEND";
  EXPECT_EQ(b().GetWord(256), 0u) << "the FETCH_ADD overtook the SEND";

  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 8)).ok());
  EXPECT_THAT(Ids(PollUntil(a(), 3)), ElementsAre(1, 2, 3));
  EXPECT_EQ(b().GetWord(128), 5u);
  EXPECT_EQ(b().GetWord(256), 1u);
  EXPECT_EQ(PollOne(b()).bytes, 8u);
}

TEST_P(SendReceive, SendsAndImmediatesShareTheReceivesInOrder) {
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(1024 + 64 * i, 64), i).ok());
  const Segment local = a().Local(0, 8);
  std::vector<SendRequest> batch;
  for (uint32_t i = 0; i < 6; ++i) {
    const Opcode opcode = i % 2 == 0 ? Opcode::kSend : Opcode::kWriteWithImmediate;
    batch.push_back(Request(opcode, {&local, 1}, i % 2 == 0 ? RemoteAddress{} : b().Remote(0), i));
    batch.back().immediate = i;
  }
  ASSERT_TRUE(a().queue_pair->PostSend(batch).ok());
  const auto received = PollUntil(b(), 6);
  ASSERT_THAT(received, SizeIs(6));
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(received[i].id, i);
    EXPECT_EQ(received[i].opcode, i % 2 == 0 ? Opcode::kReceive : Opcode::kReceiveWithImmediate);
    if (i % 2 == 1) {
      EXPECT_EQ(received[i].immediate, i);
    }
  }
  EXPECT_THAT(Statuses(PollUntil(a(), 6)), Each(CompletionStatus::kSuccess));
}

TEST_P(SendReceive, AMessageTooLongFailsAtBothEnds) {
  std::memset(b().at(0), '-', 64);
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 16), 1).ok());
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(32, 32), 2).ok());
  const Segment local = a().Local(0, 17);
  const SendRequest batch[] = {Request(Opcode::kSend, {&local, 1}, {}, 3), Request(Opcode::kSend, {&local, 1}, {}, 4)};
  ASSERT_TRUE(a().queue_pair->PostSend(batch).ok());

  const auto received = PollUntil(b(), 2);
  EXPECT_THAT(Ids(received), ElementsAre(1, 2));
  EXPECT_THAT(Statuses(received), ElementsAre(CompletionStatus::kLocalLengthError, CompletionStatus::kFlushed));
  const auto sent = PollUntil(a(), 2);
  EXPECT_THAT(Ids(sent), ElementsAre(3, 4));
  EXPECT_THAT(Statuses(sent), ElementsAre(CompletionStatus::kRemoteOperationError, CompletionStatus::kFlushed));
  EXPECT_EQ(a().queue_pair->state(), QueuePairState::kError);
  EXPECT_EQ(b().queue_pair->state(), QueuePairState::kError);
  EXPECT_FALSE(a().queue_pair->error().ok());
  EXPECT_FALSE(b().queue_pair->error().ok());
  EXPECT_EQ(b().Get(16, 48), std::string(48, '-')) << "bytes beyond the buffer, or in another's";
  ExpectQuiet();
}

TEST_P(SendReceive, AMessageOfManyPiecesTooLongForItsBufferFailsToo) {
  const size_t size = std::min<uint64_t>(1 << 20, a().device->capabilities().max_message_bytes);
  End big_a(a().device, size);
  End big_b(b().device, size);
  std::memset(big_b.at(0), '-', size);
  ASSERT_TRUE(PostReceive(*b().queue_pair, big_b.Local(0, size / 2), 1).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, big_a.Local(0, size), {}, 2).ok());
  EXPECT_EQ(PollOne(b()).status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kRemoteOperationError);
  EXPECT_EQ(big_b.Get(size / 2, size / 2), std::string(size / 2, '-'));
}

INSTANTIATE_TEST_SUITE_P(Fabrics, SendReceive, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
