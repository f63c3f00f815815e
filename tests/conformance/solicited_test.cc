// Sleeping until something solicited comes: Arm(kSolicited).
#include "absl/time/clock.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class Solicited : public Conformance {
 protected:
  SendRequest Message(Opcode opcode, bool solicited, uint64_t id) {
    SendRequest request = Request(opcode, {&word_, 1}, opcode == Opcode::kSend ? RemoteAddress{} : b().Remote(0), id,
                                  /*signaled=*/false);
    request.solicited = solicited;
    return request;
  }
  void PostReceives(size_t count) {
    for (uint64_t id = 0; id < count; ++id) ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(64, 8), id).ok());
  }
  // As a sleeper does: nothing has come when it lies down.
  void LieDown(Side& side, WakeFor what) {
    for (int round = 0; round < 4; ++round) Pump();
    side.queue->AckEvents();
    ASSERT_TRUE(side.queue->Arm(what).ok());
    ASSERT_THAT(side.Poll(), IsEmpty());
  }

  void SetUp() override {
    Conformance::SetUp();
    word_ = a().Local(0, 8);
    // Some fabrics have things to settle, and so to wake for, when a region is first used.
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, word_, b().Remote(0)).ok());
    ASSERT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  }
  Segment word_;
};

TEST_P(Solicited, AMessageWakesWhoSleepsForIt) {
  for (const Opcode opcode : {Opcode::kSend, Opcode::kWriteWithImmediate}) {
    PostReceives(1);
    LieDown(b(), WakeFor::kSolicited);
    ASSERT_TRUE(Post(*a().queue_pair, Message(opcode, true, 1)).ok());
    ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue)) << OpcodeName(opcode);
    b().queue->AckEvents();
    EXPECT_EQ(PollOne(b()).id, 0u);
  }
}

TEST_P(Solicited, OthersDoNot) {
  if (!b().device->capabilities().sleeps_through_unsolicited) GTEST_SKIP() << "this device wakes for all";
  PostReceives(3);
  LieDown(b(), WakeFor::kSolicited);
  ASSERT_TRUE(Post(*a().queue_pair, Message(Opcode::kSend, false, 1)).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Message(Opcode::kWriteWithImmediate, false, 2)).ok());
  for (int round = 0; round < 4; ++round) {
    fabric().Settle();
    a().Poll();
  }
  EXPECT_FALSE(fabric().ArmedAndReadable(*b().queue));
  // The next one brings them all.
  ASSERT_TRUE(Post(*a().queue_pair, Message(Opcode::kSend, true, 3)).ok());
  ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));
  b().queue->AckEvents();
  EXPECT_THAT(PollUntil(b(), 3), SizeIs(3));
}

TEST_P(Solicited, NorDoCompletionsOfSends) {
  if (!a().device->capabilities().sleeps_through_unsolicited) GTEST_SKIP() << "this device wakes for all";
  PostReceives(1);
  LieDown(a(), WakeFor::kSolicited);
  const SendRequest batch[] = {Request(Opcode::kWrite, {&word_, 1}, b().Remote(0), 1),
                               Request(Opcode::kSend, {&word_, 1}, {}, 2)};
  ASSERT_TRUE(a().queue_pair->PostSend(batch).ok());
  const absl::Time given_up = absl::Now() + kGuard;
  std::vector<Completion> received;
  while (received.empty() && absl::Now() < given_up) {
    fabric().Settle();
    received = b().Poll();
  }
  ASSERT_THAT(received, SizeIs(1));
  fabric().Settle();
  EXPECT_FALSE(fabric().ArmedAndReadable(*a().queue));
  EXPECT_THAT(PollUntil(a(), 2), SizeIs(2));
}

TEST_P(Solicited, FailuresWake) {
  RemoteAddress nowhere = b().Remote(0);
  ++nowhere.rkey;
  LieDown(a(), WakeFor::kSolicited);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), nowhere, 5).ok());
  const absl::Time given_up = absl::Now() + kGuard;
  std::vector<Completion> failed;
  // b polls, which may be what lets the request go on; a wakes, perhaps more than once, and sleeps again.
  while (failed.empty() && absl::Now() < given_up) {
    fabric().Settle();
    b().Poll();
    if (!fabric().ArmedAndReadable(*a().queue)) continue;
    a().queue->AckEvents();
    ASSERT_TRUE(a().queue->Arm(WakeFor::kSolicited).ok());
    failed = a().Poll();
  }
  ASSERT_THAT(failed, SizeIs(1)) << "a was not woken";
  EXPECT_EQ(failed[0].status, CompletionStatus::kRemoteAccessError);
}

TEST_P(Solicited, FlushedReceivesWakeToo) {
  PostReceives(1);
  LieDown(b(), WakeFor::kSolicited);
  b().queue_pair->Close();
  ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));
  b().queue->AckEvents();
  EXPECT_NE(PollOne(b()).status, CompletionStatus::kSuccess);
}

TEST_P(Solicited, AQueueArmedForAllStaysSo) {
  PostReceives(1);
  LieDown(b(), WakeFor::kCompletions);
  ASSERT_TRUE(b().queue->Arm(WakeFor::kSolicited).ok());
  ASSERT_THAT(b().Poll(), IsEmpty());
  ASSERT_TRUE(Post(*a().queue_pair, Message(Opcode::kSend, false, 1)).ok());
  ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));
}

TEST_P(Solicited, ArmingForAllAfterwardsCounts) {
  PostReceives(1);
  LieDown(b(), WakeFor::kSolicited);
  ASSERT_TRUE(b().queue->Arm().ok());
  ASSERT_THAT(b().Poll(), IsEmpty());
  ASSERT_TRUE(Post(*a().queue_pair, Message(Opcode::kSend, false, 1)).ok());
  ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));

  // The sender's side likewise.
  a().seen.clear();
  LieDown(a(), WakeFor::kSolicited);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, word_, {}, 2).ok());
  ASSERT_TRUE(a().queue->Arm().ok());
  ASSERT_THAT(a().Poll(), IsEmpty());
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(64, 8), 3).ok());
  const absl::Time given_up = absl::Now() + kGuard;
  while (!fabric().ArmedAndReadable(*a().queue) && absl::Now() < given_up) {
    fabric().Settle();
    b().Poll();
  }
  EXPECT_TRUE(fabric().ArmedAndReadable(*a().queue));
}

// A solicited message may have to wait for those before it, and be too long to be there at once: it wakes all the same.
TEST_P(Solicited, AMessageBehindOthersWakes) {
  const size_t size = std::min<uint64_t>(1 << 20, a().device->capabilities().max_message_bytes);
  End big_a(a().device, size);
  End big_b(b().device, size);
  for (uint64_t id = 0; id < 2; ++id) {
    ASSERT_TRUE(PostReceive(*b().queue_pair, big_b.Local(0, size), id).ok());
  }
  LieDown(b(), WakeFor::kSolicited);
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, big_a.Local(0, size), {}, 1).ok());
  const Segment all = big_a.Local(0, size);
  SendRequest solicited = Request(Opcode::kSend, {&all, 1}, {}, 2);
  solicited.solicited = true;
  ASSERT_TRUE(Post(*a().queue_pair, solicited).ok());
  // From here both only do something when they are woken, and b only for what is solicited.
  std::vector<Completion> received;
  const absl::Time given_up = absl::Now() + kGuard;
  while (received.size() < 2 && absl::Now() < given_up) {
    fabric().Settle();
    a().Poll();
    if (!fabric().ArmedAndReadable(*b().queue)) continue;
    b().queue->AckEvents();
    ASSERT_TRUE(b().queue->Arm(WakeFor::kSolicited).ok());
    const std::vector<Completion> some = b().Poll();
    received.insert(received.end(), some.begin(), some.end());
  }
  EXPECT_THAT(received, SizeIs(2)) << "b slept through a solicited message";
}

TEST_P(Solicited, OnlyWhatCompletesAReceiveCanBe) {
  for (const Opcode opcode : {Opcode::kWrite, Opcode::kRead, Opcode::kFetchAdd, Opcode::kCompareSwap}) {
    EXPECT_EQ(Post(*a().queue_pair, Message(opcode, true, 1)).code(), absl::StatusCode::kInvalidArgument)
        << OpcodeName(opcode);
  }
  ExpectQuiet();
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Solicited, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
