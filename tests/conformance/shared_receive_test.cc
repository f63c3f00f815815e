// Receives that several queue pairs share.
#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr uint32_t kSpace = 16;

class SharedReceives : public Conformance {
 protected:
  // Goes after the connections of each test, and before the fixture's queue.
  void SetUp() override {
    Conformance::SetUp();
    auto shared = b().device->CreateSharedReceiveQueue(kSpace);
    ASSERT_TRUE(shared.ok()) << shared.status();
    shared_ = *std::move(shared);
  }

  QueuePairOptions Sharing() {
    QueuePairOptions options;
    options.send_queue = options.receive_queue = b().queue.get();
    options.shared_receive_queue = shared_.get();
    return options;
  }
  // b's end shares its receives. `a_is_active`: who makes the offer.
  Connection NewSharing(bool a_is_active = true) {
    Connection connection{a().NewQueuePair(), b().device->CreateQueuePair(Sharing()).value()};
    const absl::Status connected =
        a_is_active ? Connect(*connection.a, *connection.b) : Connect(*connection.b, *connection.a);
    EXPECT_TRUE(connected.ok()) << connected;
    return connection;
  }
  // Receives of 64 bytes; that of id N is at 64 * N.
  absl::Status PostShared(uint64_t id, size_t size = 64) {
    const ReceiveRequest request{id, b().Local(id * 64, size)};
    return shared_->PostReceive({&request, 1});
  }
  absl::Status Send(QueuePair& queue_pair, absl::string_view text, uint64_t id = 1) {
    a().Put(1024 + id * 64, text);
    return Post(queue_pair, Opcode::kSend, a().Local(1024 + id * 64, text.size()), {}, id);
  }
  absl::Status WriteWithImmediate(QueuePair& queue_pair, uint32_t immediate, uint64_t id = 1) {
    const Segment word = a().Local(0, 8);
    SendRequest request = Request(Opcode::kWriteWithImmediate, {&word, 1}, b().Remote(32768), id);
    request.immediate = immediate;
    return Post(queue_pair, request);
  }

  std::unique_ptr<SharedReceiveQueue> shared_;
};

TEST_P(SharedReceives, GoToWhicheverQueuePairHasAMessage) {
  const Connection connections[] = {NewSharing(true), NewSharing(false), NewSharing(true)};
  for (uint64_t id = 0; id < 6; ++id) ASSERT_TRUE(PostShared(id).ok());
  for (uint64_t round = 0; round < 6; ++round) {
    const Connection& connection = connections[round * 2 % 3];
    ASSERT_TRUE(Send(*connection.a, absl::StrCat("round ", round)).ok());
    const Completion received = PollOne(b());
    EXPECT_EQ(received.id, round) << "the oldest first";
    EXPECT_EQ(received.opcode, Opcode::kReceive);
    EXPECT_EQ(received.queue_pair, connection.b.get());
    EXPECT_EQ(received.bytes, 7u);
    EXPECT_EQ(b().Get(round * 64, 7), absl::StrCat("round ", round));
    EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  }
  ExpectQuiet();
}

TEST_P(SharedReceives, OneConnectionsMessagesTakeThemInOrder) {
  const Connection connection = NewSharing();
  for (uint64_t id = 0; id < 8; ++id) ASSERT_TRUE(PostShared(id).ok());
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE((i % 2 == 0 ? Send(*connection.a, "message", i) : WriteWithImmediate(*connection.a, 100 + i, i)).ok());
  }
  const auto received = PollUntil(b(), 8);
  ASSERT_THAT(received, SizeIs(8));
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(received[i].id, i);
    EXPECT_EQ(received[i].opcode, i % 2 == 0 ? Opcode::kReceive : Opcode::kReceiveWithImmediate);
    EXPECT_EQ(received[i].immediate, i % 2 == 0 ? 0 : 100 + i);
    EXPECT_EQ(received[i].bytes, i % 2 == 0 ? 7u : 8u);
  }
  EXPECT_THAT(Ids(PollUntil(a(), 8)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  ExpectQuiet();
}

TEST_P(SharedReceives, MessagesWaitForOne) {
  const Connection first = NewSharing(true);
  const Connection second = NewSharing(false);
  ASSERT_TRUE(Send(*first.a, "waits", 1).ok());
  ASSERT_TRUE(WriteWithImmediate(*second.a, 7, 2).ok());
  a().PutWord(8, 5);
  ASSERT_TRUE(Post(*second.a, Opcode::kWrite, a().Local(8, 8), b().Remote(40000), 3).ok());
  ExpectQuiet();
  EXPECT_EQ(b().GetWord(40000), 0u) << "what is posted behind it waits too";
  EXPECT_EQ(first.a->state(), QueuePairState::kReady);

  ASSERT_TRUE(PostShared(0).ok());
  const Completion one = PollOne(b());
  for (int round = 0; round < 4; ++round) Pump();
  EXPECT_THAT(b().seen, IsEmpty()) << "one receive, one message";
  ASSERT_TRUE(PostShared(1).ok());
  const Completion other = PollOne(b());
  EXPECT_THAT((std::vector<QueuePair*>{one.queue_pair, other.queue_pair}),
              UnorderedElementsAre(first.b.get(), second.b.get()));
  EXPECT_THAT(Ids(PollUntil(a(), 3)), UnorderedElementsAre(1, 2, 3));
  EXPECT_EQ(b().GetWord(40000), 5u);
  ExpectQuiet();
}

// The passive end may post before the active one has completed, and cannot know what that shares.
TEST_P(SharedReceives, AMessagePostedBeforeThePeerHasCompletedIsReceived) {
  for (const Opcode opcode : {Opcode::kSend, Opcode::kWriteWithImmediate}) {
    const auto at_a = a().NewQueuePair();
    const auto at_b = b().device->CreateQueuePair(Sharing()).value();
    const auto offer = at_b->Offer();
    ASSERT_TRUE(offer.ok());
    const auto answer = at_a->Accept(*offer);
    ASSERT_TRUE(answer.ok());
    ASSERT_TRUE((opcode == Opcode::kSend ? Send(*at_a, "early") : WriteWithImmediate(*at_a, 1)).ok());
    a().queue->AckEvents();
    ASSERT_TRUE(a().queue->Arm().ok());
    ASSERT_THAT(a().Poll(), IsEmpty());
    ASSERT_TRUE(at_b->Complete(*answer).ok());
    ASSERT_TRUE(PostShared(3).ok());
    // a sleeps whenever it can.
    std::vector<Completion> received;
    const absl::Time given_up = absl::Now() + kGuard;
    while (received.empty() && absl::Now() < given_up) {
      fabric().Settle();
      received = b().Poll();
      if (!fabric().ArmedAndReadable(*a().queue)) continue;
      a().queue->AckEvents();
      ASSERT_TRUE(a().queue->Arm().ok());
      for (const Completion& completion : a().Poll()) a().seen.push_back(completion);
    }
    EXPECT_THAT(Ids(received), ElementsAre(3)) << OpcodeName(opcode);
    EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  }
}

TEST_P(SharedReceives, WakeTheSleeperForWhomTheyCame) {
  const Connection connection = NewSharing();
  ASSERT_TRUE(Send(*connection.a, "waits").ok());
  // b sleeps, and what b finds on its way to bed is not it.
  for (int round = 0; round < 4; ++round) Pump();
  b().queue->AckEvents();
  ASSERT_TRUE(b().queue->Arm().ok());
  ASSERT_THAT(b().Poll(), IsEmpty());
  ASSERT_TRUE(PostShared(2).ok());
  ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));
  b().queue->AckEvents();
  EXPECT_EQ(PollOne(b()).id, 2u);
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
}

TEST_P(SharedReceives, ReportInTheReceiveQueueOfWhoTookThem) {
  auto receives = b().device->CreateCompletionQueue(16);
  ASSERT_TRUE(receives.ok()) << receives.status();
  QueuePairOptions options = Sharing();
  options.receive_queue = receives->get();
  const Connection apart{a().NewQueuePair(), b().device->CreateQueuePair(options).value()};
  ASSERT_TRUE(Connect(*apart.a, *apart.b).ok());
  const Connection together = NewSharing();
  ASSERT_TRUE(PostShared(0).ok());
  ASSERT_TRUE(PostShared(1).ok());

  ASSERT_TRUE(Send(*apart.a, "apart").ok());
  Completion received;
  ASSERT_TRUE(Eventually([&] { return (*receives)->Poll({&received, 1}) == 1; }));
  EXPECT_EQ(received.queue_pair, apart.b.get());
  ASSERT_TRUE(Send(*together.a, "together", 2).ok());
  EXPECT_EQ(PollOne(b()).queue_pair, together.b.get());
  EXPECT_THAT(Statuses(PollUntil(a(), 2)), Each(CompletionStatus::kSuccess));
}

TEST_P(SharedReceives, HaveALimit) {
  const Connection connection = NewSharing();
  std::vector<ReceiveRequest> batch;
  for (uint64_t id = 0; id < kSpace + 1; ++id) batch.push_back({id, b().Local(id * 64, 64)});
  EXPECT_TRUE(shared_->PostReceive({}).ok());
  EXPECT_EQ(shared_->PostReceive(batch).code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(Send(*connection.a, "waits").ok());
  ExpectQuiet();  // no receive of that batch was posted
  ASSERT_TRUE(shared_->PostReceive(absl::MakeSpan(batch).first(kSpace)).ok());
  EXPECT_EQ(PollOne(b()).id, 0u);
  ASSERT_TRUE(PostShared(kSpace).ok()) << "the one reaped has left space";
  EXPECT_EQ(PostShared(kSpace + 1).code(), absl::StatusCode::kResourceExhausted);
  // Many times around, each id comes back as it went.
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  for (uint64_t id = 1; id < 100; ++id) {
    ASSERT_TRUE(Send(*connection.a, "again").ok());
    ASSERT_EQ(PollOne(b()).id, id);
    ASSERT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
    ASSERT_TRUE(PostShared(id + kSpace).ok());
  }
}

TEST_P(SharedReceives, InvalidRequestsSpoilTheirBatch) {
  const Connection connection = NewSharing();
  const ReceiveRequest batch[] = {{1, b().Local(0, 64)}, {2, Segment{nullptr, 8, 0}}};
  EXPECT_EQ(shared_->PostReceive(batch).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Send(*connection.a, "waits").ok());
  ExpectQuiet();
}

TEST_P(SharedReceives, AQueuePairThatSharesHasNoneOfItsOwn) {
  const Connection connection = NewSharing();
  EXPECT_EQ(PostReceive(*connection.b, b().Local(0, 8)).code(), absl::StatusCode::kInvalidArgument);
  connection.b->Close();
  EXPECT_EQ(PostReceive(*connection.b, b().Local(0, 8)).code(), absl::StatusCode::kInvalidArgument)
      << "whatever the state";
}

TEST_P(SharedReceives, OptionsThatTheContractDoesNotAllow) {
  EXPECT_EQ(b().device->CreateSharedReceiveQueue(0).status().code(), absl::StatusCode::kInvalidArgument);
  QueuePairOptions options = Sharing();
  options.send_queue = options.receive_queue = a().queue.get();
  EXPECT_EQ(a().device->CreateQueuePair(options).status().code(), absl::StatusCode::kInvalidArgument)
      << "the queue is another device's";
  options = Sharing();
  options.max_receive_requests = 0;
  EXPECT_TRUE(b().device->CreateQueuePair(options).ok()) << "it means nothing here";
  const auto huge = b().device->CreateSharedReceiveQueue(std::numeric_limits<uint32_t>::max());
  EXPECT_TRUE(huge.ok() || absl::IsResourceExhausted(huge.status())) << huge.status();
}

TEST_P(SharedReceives, OneQueuePairsFailureLeavesThemToTheOthers) {
  const Connection failing = NewSharing();
  const Connection other = NewSharing();
  ASSERT_TRUE(PostShared(0, 8).ok());
  ASSERT_TRUE(PostShared(1).ok());
  ASSERT_TRUE(PostShared(2).ok());
  ASSERT_TRUE(Send(*failing.a, "longer than 8").ok());
  const Completion broken = PollOne(b());
  EXPECT_EQ(broken.id, 0u);
  EXPECT_EQ(broken.status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(broken.queue_pair, failing.b.get());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kRemoteOperationError);
  EXPECT_EQ(failing.b->state(), QueuePairState::kError);
  ExpectQuiet();  // the other receives are not flushed

  const Connection closing = NewSharing();
  closing.b->Close();
  ExpectQuiet();
  ASSERT_TRUE(Send(*other.a, "well").ok());
  EXPECT_EQ(PollOne(b()).id, 1u);
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
}

// However far the message has come: the receive that it was coming into is reported, or still there.
TEST_P(SharedReceives, AQueuePairThatFailsAmidAMessageGivesItsReceiveBack) {
  const size_t size = std::min<uint64_t>(1 << 20, a().device->capabilities().max_message_bytes);
  End big_a(a().device, size);
  End big_b(b().device, size);
  const Connection failing = NewSharing();
  const Connection other = NewSharing();
  const ReceiveRequest batch[] = {{0, big_b.Local(0, size)}, {1, b().Local(64, 64)}};
  ASSERT_TRUE(shared_->PostReceive(batch).ok());
  ASSERT_TRUE(Post(*failing.a, Opcode::kSend, big_a.Local(0, size)).ok());
  std::vector<Completion> received = b().Poll();
  failing.b->Close();
  ASSERT_TRUE(Send(*other.a, "well", 2).ok());
  ASSERT_TRUE(Eventually([&] { return !b().seen.empty() && b().seen.back().queue_pair == other.b.get(); }));
  received.insert(received.end(), b().seen.begin(), b().seen.end());
  ASSERT_LE(received.size(), 2u);
  for (uint64_t i = 0; i < received.size(); ++i) EXPECT_EQ(received[i].id, i);
  EXPECT_EQ(received.back().status, CompletionStatus::kSuccess);
}

TEST_P(SharedReceives, WhatADestroyedQueuePairTookComesBackWithoutIt) {
  Connection going = NewSharing();
  const Connection staying = NewSharing();
  ASSERT_TRUE(PostShared(0).ok());
  ASSERT_TRUE(PostShared(1).ok());
  ASSERT_TRUE(Send(*going.a, "unpolled").ok());
  // b makes progress without taking its completion; when a's has come, the message has met its receive.
  const absl::Time given_up = absl::Now() + kGuard;
  while (a().Poll().empty() && absl::Now() < given_up) {
    fabric().Settle();
    b().queue->Poll({});
  }
  going.b.reset();
  const Completion received = PollOne(b());
  EXPECT_EQ(received.id, 0u);
  EXPECT_EQ(received.queue_pair, nullptr);
  ASSERT_TRUE(Send(*staying.a, "well", 2).ok());
  EXPECT_EQ(PollOne(b()).id, 1u);
  EXPECT_EQ(b().Get(64, 4), "well");
  for (uint64_t id = 0; id < kSpace; ++id) ASSERT_TRUE(PostShared(id).ok()) << "of its space, none is lost";
}

TEST_P(SharedReceives, ManyQueuePairsMayComeAndGo) {
  for (uint64_t round = 0; round < 20; ++round) {
    const uint64_t id = round % kSpace;
    ASSERT_TRUE(PostShared(id).ok());
    const Connection connection = NewSharing(round % 2 == 0);
    ASSERT_TRUE(Send(*connection.a, "hello").ok());
    const Completion received = PollOne(b());
    ASSERT_EQ(received.id, id);
    ASSERT_EQ(received.queue_pair, connection.b.get());
    // In some rounds its acknowledgement is still under way when it goes.
    if (round % 3 == 0) PollOne(a());
    a().seen.clear();
  }
}

TEST_P(SharedReceives, GoWithTheirQueueUnreported) {
  ASSERT_TRUE(PostShared(0).ok());
  { const Connection connection = NewSharing(); }
  shared_.reset();
  ExpectQuiet();
}

// Some post, others send, one polls.
TEST_P(SharedReceives, ArePostedByAnyThread) {
  constexpr uint64_t kThreads = 3;
  constexpr uint64_t kEach = 50;
  std::vector<Connection> connections;
  for (uint64_t i = 0; i < kThreads; ++i) connections.push_back(NewSharing());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.reserve(2 * kThreads);
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t n = 0; n < kEach && !stop;) {
        const ReceiveRequest request{i * kEach + n, b().Local(0, 0)};
        if (shared_->PostReceive({&request, 1}).ok()) {
          ++n;
        } else {
          std::this_thread::yield();
        }
      }
    });
    threads.emplace_back([&, i] {
      for (uint64_t n = 0; n < kEach && !stop;) {
        if (Post(*connections[i].a, Opcode::kSend, a().Local(0, 0), {}, n, /*signaled=*/n % 8 == 7).ok()) {
          ++n;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  const bool all = Eventually([&] { return b().seen.size() >= kThreads * kEach; });
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(all) << "only " << b().seen.size();
  const auto received = PollUntil(b(), kThreads * kEach);
  const std::vector<uint64_t> ids = Ids(received);
  EXPECT_THAT((absl::flat_hash_set<uint64_t>(ids.begin(), ids.end())), SizeIs(kThreads * kEach)) << "each id once";
  EXPECT_THAT(Statuses(received), Each(CompletionStatus::kSuccess));
}

INSTANTIATE_TEST_SUITE_P(Fabrics, SharedReceives, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
