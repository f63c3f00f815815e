// What an error does to the queue pair it meets, and to what else is outstanding there.
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ne;

class Errors : public Conformance {
 protected:
  RemoteAddress Nowhere() { return {b().Remote(0).address, b().Remote(0).rkey + 1}; }
};

TEST_P(Errors, EverythingBehindTheFirstErrorIsFlushedAndHasNoEffect) {
  a().PutWord(0, 9);
  const Segment word = a().Local(0, 8);
  const Segment sink = a().Local(64, 8);
  ASSERT_TRUE(PostReceive(*a().queue_pair, a().Local(128, 64), 21).ok());
  ASSERT_TRUE(PostReceive(*a().queue_pair, a().Local(128, 64), 22).ok());
  SendRequest add = Request(Opcode::kFetchAdd, {&sink, 1}, b().Remote(16), 6);
  add.operand = 1;
  const SendRequest batch[] = {
      Request(Opcode::kWrite, {&word, 1}, b().Remote(0), 1, /*signaled=*/false),
      Request(Opcode::kWrite, {&word, 1}, Nowhere(), 2),
      Request(Opcode::kWrite, {&word, 1}, b().Remote(8), 3),
      Request(Opcode::kWrite, {&word, 1}, b().Remote(8), 4, /*signaled=*/false),
      Request(Opcode::kRead, {&sink, 1}, b().Remote(0), 5),
      add,
      Request(Opcode::kSend, {&word, 1}, {}, 7),
  };
  ASSERT_TRUE(a().queue_pair->PostSend(batch).ok());

  std::vector<Completion> sends;
  std::vector<Completion> receives;
  for (const Completion& completion : PollUntil(a(), 8)) {
    (completion.opcode == Opcode::kReceive ? receives : sends).push_back(completion);
  }
  EXPECT_THAT(Ids(sends), ElementsAre(2, 3, 4, 5, 6, 7)) << "each error completes, signaled or not; successes as asked";
  ASSERT_FALSE(sends.empty());
  EXPECT_EQ(sends[0].status, CompletionStatus::kRemoteAccessError);
  sends.erase(sends.begin());
  EXPECT_THAT(Statuses(sends), Each(CompletionStatus::kFlushed));
  EXPECT_THAT(Ids(receives), ElementsAre(21, 22));
  EXPECT_THAT(Statuses(receives), Each(CompletionStatus::kFlushed));

  EXPECT_EQ(b().GetWord(0), 9u) << "what came before the error counts";
  EXPECT_EQ(b().GetWord(8), 0u);
  EXPECT_EQ(b().GetWord(16), 0u);
  EXPECT_EQ(a().GetWord(64), 0u);
  for (const Completion& completion : sends) EXPECT_EQ(completion.queue_pair, a().queue_pair.get());
}

TEST_P(Errors, AnUnsignaledRequestThatFailsCompletes) {
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), Nowhere(), 5, /*signaled=*/false).ok());
  const Completion failed = PollOne(a());
  EXPECT_EQ(failed.id, 5u);
  EXPECT_EQ(failed.status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(failed.opcode, Opcode::kWrite);
}

TEST_P(Errors, AFailedQueuePairTakesNoMorePosts) {
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), Nowhere()).ok());
  ASSERT_NE(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(a().queue_pair->state(), QueuePairState::kError);
  EXPECT_EQ(a().queue_pair->RefreshState(), QueuePairState::kError);
  EXPECT_FALSE(a().queue_pair->error().ok());
  EXPECT_EQ(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), b().Remote(0)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PostReceive(*a().queue_pair, a().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);
  a().seen.clear();
  ExpectQuiet();
}

TEST_P(Errors, TheOtherEndOfAFailedConnectionSucceedsNoMore) {
  ASSERT_TRUE(PostReceive(*a().queue_pair, a().Local(256, 64), 1).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), Nowhere(), 2).ok());
  ASSERT_THAT(Statuses(PollUntil(a(), 2)), Each(Ne(CompletionStatus::kSuccess)));

  // b knows already, and refuses; or finds out by this.
  if (Post(*b().queue_pair, Opcode::kSend, b().Local(0, 8), {}, 3).ok()) {
    EXPECT_THAT(Statuses(PollUntil(b(), 1)), ElementsAre(Ne(CompletionStatus::kSuccess)));
  }
  EXPECT_EQ(b().queue_pair->state(), QueuePairState::kError);
  EXPECT_FALSE(b().queue_pair->error().ok());
}

TEST_P(Errors, OneThatWaitsForAReceiveIsFlushedWithItsConnection) {
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, 1).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), b().Remote(0), 2).ok());
  Pump();
  a().queue_pair->Close();
  const auto flushed = PollUntil(a(), 2);
  EXPECT_THAT(Ids(flushed), ElementsAre(1, 2));
  EXPECT_THAT(Statuses(flushed), Each(Ne(CompletionStatus::kSuccess)));
}

TEST_P(Errors, EveryPostIsAnsweredOnceWhateverHappens) {
  const Segment word = a().Local(0, 8);
  std::vector<uint64_t> expected;
  uint64_t id = 0;
  for (int round = 0; round < 8; ++round) {
    const Connection connection = NewConnection();
    std::vector<SendRequest> batch;
    for (int i = 0; i < 16; ++i) {
      expected.push_back(++id);
      batch.push_back(Request(Opcode::kWrite, {&word, 1}, i == round * 2 ? Nowhere() : b().Remote(64), id));
    }
    ASSERT_TRUE(connection.a->PostSend(batch).ok());
    EXPECT_THAT(Ids(PollUntil(a(), 16)), testing::ElementsAreArray(expected));
    expected.clear();
    ExpectQuiet();
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Errors, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
