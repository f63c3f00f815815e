// Close, and objects that go in the orders the contract allows.
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ne;

class Closing : public Conformance {
 protected:
  bool EventuallyFails(QueuePair& queue_pair) {
    return Eventually([&] { return queue_pair.RefreshState() == QueuePairState::kError; });
  }
};

TEST_P(Closing, TakesEffectAtOnceHere) {
  ASSERT_TRUE(PostReceive(*a().queue_pair, a().Local(0, 8), 1).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, 2).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, 3, /*signaled=*/false).ok());
  a().queue_pair->Close();
  EXPECT_EQ(a().queue_pair->state(), QueuePairState::kError);
  EXPECT_FALSE(a().queue_pair->error().ok());
  const auto flushed = PollUntil(a(), 3);
  EXPECT_THAT(Ids(flushed), testing::UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(Statuses(flushed), Each(Ne(CompletionStatus::kSuccess)));
  EXPECT_EQ(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);

  a().queue_pair->Close();
  EXPECT_EQ(a().queue_pair->state(), QueuePairState::kError);
  b().seen.clear();
  ExpectQuiet();
}

TEST_P(Closing, IsSeenByThePeerThatLooks) {
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 8), 1).ok());
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 8), 2).ok());
  a().queue_pair->Close();
  ASSERT_TRUE(EventuallyFails(*b().queue_pair));
  EXPECT_EQ(b().queue_pair->state(), QueuePairState::kError);
  EXPECT_FALSE(b().queue_pair->error().ok());
  const auto flushed = PollUntil(b(), 2);
  EXPECT_THAT(Ids(flushed), ElementsAre(1, 2));
  EXPECT_THAT(Statuses(flushed), Each(Ne(CompletionStatus::kSuccess)));
  EXPECT_EQ(PostReceive(*b().queue_pair, b().Local(0, 8)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(Closing, EndsThePeersRequests) {
  ASSERT_TRUE(Post(*b().queue_pair, Opcode::kSend, b().Local(0, 8), {}, 1).ok());
  ASSERT_TRUE(Post(*b().queue_pair, Opcode::kWrite, b().Local(0, 8), a().Remote(0), 2, /*signaled=*/false).ok());
  Pump();
  a().queue_pair->Close();
  ASSERT_TRUE(EventuallyFails(*b().queue_pair));
  const auto ended = PollUntil(b(), 2);
  EXPECT_THAT(Ids(ended), ElementsAre(1, 2));
  EXPECT_THAT(Statuses(ended), Each(Ne(CompletionStatus::kSuccess)));
}

// Whether a peer without receives is stopped for a while or its device dumb for ever looks the same.
TEST_P(Closing, OfADumbPeerIsBelievedWhenItHadPromisedReceives) {
  const bool by_device = !a().device->capabilities().announces_close && a().queue->fd() >= 0;
  if (!by_device) GTEST_SKIP() << "a peer that is gone shows in other ways";
  QueuePairOptions options;
  options.send_queue = options.receive_queue = a().queue.get();
  options.peer_always_receives = true;
  const std::unique_ptr<QueuePair> promised = a().device->CreateQueuePair(options).value();
  const std::unique_ptr<QueuePair> silent = b().NewQueuePair();
  ASSERT_TRUE(Connect(*promised, *silent).ok());
  for (QueuePair* each : {promised.get(), a().queue_pair.get()}) {
    ASSERT_TRUE(Post(*each, Opcode::kSend, a().Local(0, 8)).ok());
  }
  const absl::Time start = absl::Now();
  while (promised->RefreshState() == QueuePairState::kReady && absl::Now() < start + absl::Minutes(2)) {
    a().queue_pair->RefreshState();
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_EQ(promised->state(), QueuePairState::kError);
  EXPECT_GT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(a().queue_pair->RefreshState(), QueuePairState::kReady) << "which waits for a receive as ever";
}

TEST_P(Closing, IsSeenByThePeersNextRequest) {
  a().queue_pair->Close();
  // Refused, or answered with an error: never taken for done.
  if (Post(*b().queue_pair, Opcode::kSend, b().Local(0, 8), {}, 1).ok()) {
    EXPECT_THAT(Statuses(PollUntil(b(), 1)), ElementsAre(Ne(CompletionStatus::kSuccess)));
  }
  EXPECT_EQ(b().queue_pair->state(), QueuePairState::kError);
}

TEST_P(Closing, WhatCompletedBeforeStaysCompleted) {
  a().PutWord(0, 5);
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(64, 8), 1).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), b().Remote(0), 2).ok());
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, 3).ok());
  ASSERT_TRUE(Eventually([&] { return a().seen.size() == 2; }));
  a().queue_pair->Close();
  EXPECT_THAT(Statuses(PollUntil(a(), 2)), Each(CompletionStatus::kSuccess));
  const Completion received = PollOne(b());
  EXPECT_EQ(received.status, CompletionStatus::kSuccess);
  EXPECT_EQ(received.bytes, 8u);
  EXPECT_EQ(b().GetWord(0), 5u);
  EXPECT_EQ(b().GetWord(64), 5u);
}

TEST_P(Closing, OfAQueuePairNeverConnected) {
  const auto fresh = a().NewQueuePair();
  EXPECT_TRUE(fresh->error().ok()) << fresh->error();
  fresh->Close();
  EXPECT_EQ(fresh->state(), QueuePairState::kError);
  EXPECT_FALSE(fresh->error().ok());
}

TEST_P(Closing, DestroyingAQueuePairIsNoticedToo) {
  ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 8), 1).ok());
  a().queue_pair.reset();
  ASSERT_TRUE(EventuallyFails(*b().queue_pair));
  EXPECT_EQ(PollOne(b()).id, 1u);
}

TEST_P(Closing, AQueuePairMayGoWithRequestsOnTheirWay) {
  for (int variant = 0; variant < 4; ++variant) {
    SCOPED_TRACE(variant);
    Connection connection = NewConnection();
    for (uint64_t id = 0; id < 8; ++id) {
      ASSERT_TRUE(Post(*connection.a, Opcode::kWrite, a().Local(0, 4096), b().Remote(0), 500).ok());
      ASSERT_TRUE(Post(*connection.b, Opcode::kRead, b().Local(8192, 4096), a().Remote(0), 500).ok());
    }
    ASSERT_TRUE(Post(*connection.a, Opcode::kSend, a().Local(0, 8), {}, 500).ok());
    ASSERT_TRUE(PostReceive(*connection.a, a().Local(0, 8), 500).ok());
    if (variant % 2 == 1) fabric().Settle();
    (variant < 2 ? connection.a : connection.b).reset();
    Pump();
    (variant < 2 ? connection.b : connection.a).reset();
    Pump();
    a().seen.clear();
    b().seen.clear();
  }
  // The queues and the other connection live on.
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), b().Remote(0), 9).ok());
  EXPECT_EQ(PollOne(a()).id, 9u);
  ExpectQuiet();
}

TEST_P(Closing, CompletionsOfADestroyedQueuePairNameNoDanglingPointer) {
  auto connection = NewConnection();
  ASSERT_TRUE(Post(*connection.a, Opcode::kWrite, a().Local(0, 8), b().Remote(0), 1).ok());
  fabric().Settle();
  connection.a.reset();
  // Whether it is still reported is open; nothing of it may be touched by polling.
  Pump();
  a().seen.clear();
  ExpectQuiet();
}

TEST_P(Closing, AWholeEndMayGoBeforeTheOther) {
  for (bool first_is_a : {true, false}) {
    auto device_c = fabric().MakeDevice(first_is_a ? "c" : "e");
    auto device_d = fabric().MakeDevice(first_is_a ? "d" : "f");
    ASSERT_TRUE(device_c.ok() && device_d.ok());
    auto c = std::make_unique<End>(*std::move(device_c));
    auto d = std::make_unique<End>(*std::move(device_d));
    ASSERT_TRUE(Connect(*c->queue_pair, *d->queue_pair).ok());
    ASSERT_TRUE(Post(*c->queue_pair, Opcode::kSend, c->Local(0, 8), {}, 1).ok());
    ASSERT_TRUE(Post(*d->queue_pair, Opcode::kWrite, d->Local(0, 8), c->Remote(0), 2).ok());
    auto& first = first_is_a ? c : d;
    auto& second = first_is_a ? d : c;
    first.reset();
    ASSERT_TRUE(Eventually([&] {
      second->Poll();
      return second->queue_pair->RefreshState() == QueuePairState::kError;
    }));
  }
}

TEST_P(Closing, TheFabricMayGoWithEverythingStillOpen) {
  // The fixture destroys it all, with these on their way.
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 4096), b().Remote(0)).ok());
    ASSERT_TRUE(Post(*b().queue_pair, Opcode::kSend, b().Local(0, 4096)).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Closing, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
