// What PostSend and PostReceive accept, when there is space, and which requests report.
#include <limits>

#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;
using testing::ElementsAre;

class Posting : public Conformance {
 protected:
  void ExpectInvalid(const SendRequest& request) {
    EXPECT_EQ(Post(*a().queue_pair, request).code(), absl::StatusCode::kInvalidArgument)
        << OpcodeName(request.opcode) << " with " << request.local.size() << " segments";
  }
  std::vector<SendRequest> Writes(size_t count, const Segment& local, uint64_t first_id) {
    std::vector<SendRequest> batch;
    for (size_t i = 0; i < count; ++i) {
      batch.push_back(Request(Opcode::kWrite, {&local, 1}, b().Remote(0), first_id + i));
    }
    return batch;
  }
};

TEST_P(Posting, NeedsAReadyQueuePair) {
  const auto fresh = a().NewQueuePair();
  EXPECT_EQ(Post(*fresh, Opcode::kSend, a().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PostReceive(*fresh, a().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fresh->Offer().ok());
  EXPECT_EQ(Post(*fresh, Opcode::kSend, a().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);
  fresh->Close();
  EXPECT_EQ(Post(*fresh, Opcode::kSend, a().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PostReceive(*fresh, a().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);
  ExpectQuiet();
}

TEST_P(Posting, AnEmptyBatchIsNothing) {
  EXPECT_TRUE(a().queue_pair->PostSend({}).ok());
  EXPECT_TRUE(a().queue_pair->PostReceive({}).ok());
  ExpectQuiet();
}

TEST_P(Posting, RequestsTheContractDoesNotAllow) {
  const Segment eight = a().Local(0, 8);
  const Segment four = a().Local(0, 4);
  const Segment two_halves[] = {four, four};
  const Segment no_data{nullptr, 8, a().memory->lkey()};
  ExpectInvalid(Request(Opcode::kReceive, {&eight, 1}, b().Remote(0)));
  ExpectInvalid(Request(Opcode::kReceiveWithImmediate, {&eight, 1}, b().Remote(0)));
  ExpectInvalid(Request(static_cast<Opcode>(200), {&eight, 1}, b().Remote(0)));
  for (Opcode atomic : {Opcode::kFetchAdd, Opcode::kCompareSwap}) {
    ExpectInvalid(Request(atomic, {}, b().Remote(0)));
    ExpectInvalid(Request(atomic, {&four, 1}, b().Remote(0)));
    ExpectInvalid(Request(atomic, two_halves, b().Remote(0)));
  }
  for (Opcode opcode : {Opcode::kSend, Opcode::kWrite, Opcode::kRead, Opcode::kFetchAdd}) {
    ExpectInvalid(Request(opcode, {&no_data, 1}, b().Remote(0)));
  }
  EXPECT_EQ(PostReceive(*a().queue_pair, no_data).code(), absl::StatusCode::kInvalidArgument);
  ExpectQuiet();
  EXPECT_EQ(a().queue_pair->state(), QueuePairState::kReady);
}

TEST_P(Posting, MessagesLongerThanTheDeviceTakes) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const uint64_t limit = a().device->capabilities().max_message_bytes;
  // None of these may be read: there is no such memory.
  const Segment overflowing[] = {a().Local(0, kMost / 2 + 1), a().Local(0, kMost / 2 + 1)};
  const Segment overflowing_by_8[] = {a().Local(0, kMost), a().Local(0, 9)};
  for (Opcode opcode : {Opcode::kSend, Opcode::kWrite, Opcode::kWriteWithImmediate, Opcode::kRead, Opcode::kFetchAdd}) {
    ExpectInvalid(Request(opcode, overflowing, b().Remote(0)));
    ExpectInvalid(Request(opcode, overflowing_by_8, b().Remote(0)));
    if (limit == kMost) continue;
    const Segment longer = a().Local(0, limit + 1);
    ExpectInvalid(Request(opcode, {&longer, 1}, b().Remote(0)));
  }
  ExpectQuiet();
}

TEST_P(Posting, OneInvalidRequestSpoilsItsBatch) {
  a().PutWord(0, 5);
  const Segment eight = a().Local(0, 8);
  const Segment four = a().Local(0, 4);
  const SendRequest batch[] = {Request(Opcode::kWrite, {&eight, 1}, b().Remote(0), 1),
                               Request(Opcode::kFetchAdd, {&four, 1}, b().Remote(0), 2)};
  EXPECT_EQ(a().queue_pair->PostSend(batch).code(), absl::StatusCode::kInvalidArgument);
  const ReceiveRequest receives[] = {{3, a().Local(0, 8)}, {4, Segment{nullptr, 8, 0}}};
  EXPECT_EQ(a().queue_pair->PostReceive(receives).code(), absl::StatusCode::kInvalidArgument);
  ExpectQuiet();
  EXPECT_EQ(b().GetWord(0), 0u);
}

TEST_P(Posting, ABatchThatDoesNotFitIsRefusedWhole) {
  const Connection connection = NewConnection(/*max_send=*/4, /*max_receive=*/4);
  a().PutWord(0, 5);
  const Segment local = a().Local(0, 8);
  EXPECT_EQ(connection.a->PostSend(Writes(5, local, 1)).code(), absl::StatusCode::kResourceExhausted);
  ExpectQuiet();
  EXPECT_EQ(b().GetWord(0), 0u);

  ASSERT_TRUE(connection.a->PostSend(Writes(3, local, 10)).ok());
  EXPECT_EQ(connection.a->PostSend(Writes(2, local, 20)).code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(connection.a->PostSend(Writes(1, local, 30)).ok());
  EXPECT_EQ(connection.a->PostSend(Writes(1, local, 40)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Ids(PollUntil(a(), 4)), ElementsAre(10, 11, 12, 30));
  ExpectQuiet();
  ASSERT_TRUE(connection.a->PostSend(Writes(4, local, 50)).ok());
  EXPECT_THAT(Ids(PollUntil(a(), 4)), ElementsAre(50, 51, 52, 53));
}

TEST_P(Posting, WhatIsUnreapedTakesSpace) {
  const Connection connection = NewConnection(/*max_send=*/2, /*max_receive=*/2);
  const Segment local = a().Local(0, 8);
  ASSERT_TRUE(connection.a->PostSend(Writes(2, local, 1)).ok());
  fabric().Settle();
  EXPECT_EQ(connection.a->PostSend(Writes(1, local, 3)).code(), absl::StatusCode::kResourceExhausted);

  Completion one;
  ASSERT_TRUE(Eventually([&] { return !a().seen.empty() || a().queue->Poll({&one, 1}) == 1; }));
  EXPECT_TRUE(connection.a->PostSend(Writes(1, local, 4)).ok());
}

TEST_P(Posting, ReceivesHaveTheirOwnLimit) {
  const Connection connection = NewConnection(/*max_send=*/8, /*max_receive=*/2);
  const ReceiveRequest batch[] = {{1, b().Local(0, 8)}, {2, b().Local(8, 8)}, {3, b().Local(16, 8)}};
  EXPECT_EQ(connection.b->PostReceive(batch).code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(Post(*connection.a, Opcode::kSend, a().Local(0, 8), {}, 10, /*signaled=*/false).ok());
  ExpectQuiet();  // no receive of that batch was posted

  ASSERT_TRUE(connection.b->PostReceive(absl::MakeSpan(batch).first(2)).ok());
  EXPECT_EQ(PollOne(b()).id, 1u);
  ASSERT_TRUE(PostReceive(*connection.b, b().Local(24, 8), 4).ok()) << "the one reaped has left space";
  EXPECT_EQ(PostReceive(*connection.b, b().Local(24, 8), 5).code(), absl::StatusCode::kResourceExhausted);
  const Segment local = a().Local(0, 8);
  const SendRequest sends[] = {Request(Opcode::kSend, {&local, 1}, {}, 11),
                               Request(Opcode::kSend, {&local, 1}, {}, 12)};
  ASSERT_TRUE(connection.a->PostSend(sends).ok());
  EXPECT_THAT(Ids(PollUntil(b(), 2)), ElementsAre(2, 4));
}

TEST_P(Posting, UnsignaledSuccessesDoNotReport) {
  a().PutWord(0, 7);
  const Segment local = a().Local(0, 8);
  std::vector<SendRequest> batch;
  for (uint64_t i = 0; i < 12; ++i) {
    const Opcode opcode = i % 4 == 1 ? Opcode::kRead : Opcode::kWrite;
    batch.push_back(Request(opcode, {&local, 1}, b().Remote(8 * i), i, /*signaled=*/i % 4 == 3));
  }
  // What the READs bring, and leave in place.
  for (size_t offset : {8, 40, 72}) b().PutWord(offset, 7);
  ASSERT_TRUE(a().queue_pair->PostSend(batch).ok());
  EXPECT_THAT(Ids(PollUntil(a(), 3)), ElementsAre(3, 7, 11));
  for (uint64_t i = 0; i < 12; ++i) EXPECT_EQ(b().GetWord(8 * i), 7u) << i;
  ExpectQuiet();
}

TEST_P(Posting, OneSignaledCompletionFreesTheUnsignaledBeforeIt) {
  const Connection connection = NewConnection(/*max_send=*/4, /*max_receive=*/4);
  const Segment local = a().Local(0, 8);
  for (int round = 0; round < 50; ++round) {
    std::vector<SendRequest> batch = Writes(4, local, 1);
    for (int i = 0; i < 3; ++i) batch[i].signaled = false;
    ASSERT_TRUE(connection.a->PostSend(batch).ok()) << "round " << round;
    ASSERT_EQ(PollOne(a()).id, 4u);
  }
  ExpectQuiet();
}

TEST_P(Posting, SegmentsAreCopiedByThePost) {
  a().Put(0, "as posted");
  {
    std::vector<Segment> segments = {a().Local(0, 3), a().Local(3, 6)};
    ASSERT_TRUE(Post(*a().queue_pair, Request(Opcode::kWrite, segments, b().Remote(0))).ok());
    std::fill(segments.begin(), segments.end(), Segment{});
  }
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(b().Get(0, 9), "as posted");
}

TEST_P(Posting, UnregisteredSourcesUpToTheInlineLimitAreReadByThePost) {
  const size_t size = a().device->capabilities().max_inline_bytes;
  std::string text(size, 'x');
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(1024, 4096)).ok());
  for (Opcode opcode : {Opcode::kWrite, Opcode::kSend}) {
    text.assign(size, 'x');
    const Segment local{reinterpret_cast<std::byte*>(text.data()), text.size(), 0};
    ASSERT_TRUE(Post(*a().queue_pair, opcode, local, opcode == Opcode::kWrite ? b().Remote(0) : RemoteAddress{}).ok());
    text.assign(size, '!');
  }
  EXPECT_THAT(Statuses(PollUntil(a(), 2)), Each(CompletionStatus::kSuccess));
  EXPECT_EQ(PollOne(b()).bytes, size);
  EXPECT_EQ(b().Get(0, size), std::string(size, 'x'));
  EXPECT_EQ(b().Get(1024, size), std::string(size, 'x'));
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Posting, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
