// Poll, and the protocol for sleeping: Arm, Poll once more, sleep, AckEvents, Poll.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <thread>

#include "absl/time/clock.h"
#include "core/base/unique_fd.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CompletionQueues : public Conformance {
 protected:
  // Makes a completion appear at b.
  void Notify(uint64_t id) {
    ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 8), id).ok());
    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, id, /*signaled=*/false).ok());
  }
};

TEST_P(CompletionQueues, PollTakesTheOldestFirstAndNoMoreThanAsked) {
  for (uint64_t id = 0; id < 10; ++id) Notify(id);
  std::vector<uint64_t> ids;
  ASSERT_TRUE(Eventually([&] {
    for (const Completion& completion : b().seen) ids.push_back(completion.id);
    b().seen.clear();
    return ids.size() == 10;
  }));
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));

  for (uint64_t id = 20; id < 23; ++id) Notify(id);
  for (uint64_t id = 20; id < 23; ++id) {
    Completion pair[2];
    pair[1].id = 99;
    fabric().Settle();
    // Whether they came all at once or one by one: one is taken where one is asked for.
    const absl::Time given_up = absl::Now() + kGuard;
    while (b().queue->Poll({pair, 1}) == 0 && absl::Now() < given_up) {
      fabric().Settle();
      a().Poll();
    }
    EXPECT_EQ(pair[0].id, id);
    EXPECT_EQ(pair[1].id, 99u);
  }
  EXPECT_EQ(b().queue->Poll({}), 0u);
  ExpectQuiet();
}

TEST_P(CompletionQueues, SendsAndReceivesMayReportApart) {
  auto receives = b().device->CreateCompletionQueue(16);
  ASSERT_TRUE(receives.ok()) << receives.status();
  QueuePairOptions options;
  options.send_queue = b().queue.get();
  options.receive_queue = receives->get();
  auto at_b = b().device->CreateQueuePair(options);
  ASSERT_TRUE(at_b.ok()) << at_b.status();
  const auto at_a = a().NewQueuePair();
  ASSERT_TRUE(Connect(*at_a, **at_b).ok());

  ASSERT_TRUE(PostReceive(**at_b, b().Local(0, 8), 1).ok());
  ASSERT_TRUE(Post(**at_b, Opcode::kWrite, b().Local(0, 8), a().Remote(0), 2).ok());
  ASSERT_TRUE(Post(*at_a, Opcode::kSend, a().Local(0, 8), {}, 3).ok());
  Completion received;
  ASSERT_TRUE(Eventually([&] { return (*receives)->Poll({&received, 1}) == 1; }));
  EXPECT_EQ(received.id, 1u);
  EXPECT_EQ(received.queue_pair, at_b->get());
  EXPECT_EQ(PollOne(b()).id, 2u);
  EXPECT_EQ(PollOne(a()).id, 3u);
  ExpectQuiet();
}

TEST_P(CompletionQueues, ANewQueueIsNotReadable) {
  b().queue->AckEvents();  // what a connection needs to tell its other end
  EXPECT_FALSE(fabric().ArmedAndReadable(*b().queue));
}

TEST_P(CompletionQueues, WakesItsSleeperForWhateverElseIsWatched) {
  CompletionQueue& queue = *b().queue;
  if (queue.fd() < 0) GTEST_SKIP() << "nobody sleeps where time is simulated";
  const UniqueFd other(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  ASSERT_TRUE(queue.Watch(other.get()).ok());
  EXPECT_FALSE(queue.Watch(other.get()).ok()) << "twice";
  eventfd_write(other.get(), 1);
  queue.AckEvents();  // is about the queue's own
  epoll_event event = {};
  ASSERT_EQ(epoll_wait(queue.fd(), &event, 1, 0), 1);
  EXPECT_EQ(event.data.fd, other.get());
  queue.Forget(other.get());
  EXPECT_EQ(epoll_wait(queue.fd(), &event, 1, 0), 0);
}

TEST_P(CompletionQueues, AnArmedQueueWakesItsSleeper) {
  for (uint64_t round = 1; round <= 20; ++round) {
    ASSERT_TRUE(PostReceive(*b().queue_pair, b().Local(0, 8), round).ok());
    // What polling had left to do may have rung before; a sleeper acknowledges and goes on.
    b().queue->AckEvents();
    ASSERT_TRUE(b().queue->Arm().ok());
    ASSERT_THAT(b().Poll(), IsEmpty());

    ASSERT_TRUE(Post(*a().queue_pair, Opcode::kSend, a().Local(0, 8), {}, round, /*signaled=*/false).ok());
    ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue)) << "a lost wake-up in round " << round;
    b().queue->AckEvents();
    EXPECT_FALSE(fabric().ArmedAndReadable(*b().queue)) << "acknowledged, and not armed again";
    ASSERT_EQ(PollOne(b()).id, round);
  }
}

TEST_P(CompletionQueues, ACompletionThatComesBeforeArmIsPolledAfterIt) {
  ASSERT_THAT(b().Poll(), IsEmpty());
  Notify(1);
  fabric().Settle();
  ASSERT_TRUE(b().queue->Arm().ok());
  // Either is right: it is found by the Poll after Arm, or the descriptor wakes. A sleeper does both.
  std::vector<Completion> completions = b().Poll();
  if (completions.empty()) {
    ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));
    b().queue->AckEvents();
    completions = PollUntil(b(), 1);
  }
  EXPECT_THAT(Ids(completions), ElementsAre(1));
}

TEST_P(CompletionQueues, ErrorsWakeToo) {
  RemoteAddress nowhere = b().Remote(0);
  ++nowhere.rkey;
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kWrite, a().Local(0, 8), nowhere, 5, /*signaled=*/false).ok());
  // a sleeps whenever it can; b polls, which may be what lets the request go on. A wake-up need not bring a completion.
  std::vector<Completion> failed = a().Poll();
  const absl::Time given_up = absl::Now() + kGuard;
  while (failed.empty() && absl::Now() < given_up) {
    ASSERT_TRUE(a().queue->Arm().ok());
    failed = a().Poll();
    while (failed.empty() && !fabric().ArmedAndReadable(*a().queue) && absl::Now() < given_up) {
      fabric().Settle();
      b().Poll();
    }
    a().queue->AckEvents();
    if (failed.empty()) failed = a().Poll();
  }
  EXPECT_THAT(Statuses(failed), ElementsAre(CompletionStatus::kRemoteAccessError));
}

TEST_P(CompletionQueues, AckBeforeAnythingCameIsHarmless) {
  b().queue->AckEvents();
  ASSERT_TRUE(b().queue->Arm().ok());
  ASSERT_TRUE(b().queue->Arm().ok());
  Notify(3);
  ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));
  b().queue->AckEvents();
  EXPECT_EQ(PollOne(b()).id, 3u);
}

TEST_P(CompletionQueues, WakeEndsASleepThatNoCompletionWould) {
  for (const bool armed : {false, true}) {
    if (armed) {
      ASSERT_TRUE(b().queue->Arm().ok());
    }
    std::thread waker([&] { b().queue->Wake(); });
    EXPECT_TRUE(fabric().SleepUntilReadable(*b().queue)) << "armed: " << armed;
    waker.join();
    b().queue->AckEvents();
    EXPECT_FALSE(fabric().ArmedAndReadable(*b().queue)) << "armed: " << armed;
    EXPECT_THAT(b().Poll(), IsEmpty());
  }
}

TEST_P(CompletionQueues, DescriptorsAreSeparate) {
  auto other = b().device->CreateCompletionQueue(16);
  ASSERT_TRUE(other.ok()) << other.status();
  if (b().queue->fd() != -1) {
    EXPECT_NE(b().queue->fd(), (*other)->fd());
  }
  ASSERT_TRUE((*other)->Arm().ok());
  ASSERT_TRUE(b().queue->Arm().ok());
  Notify(1);
  ASSERT_TRUE(fabric().SleepUntilReadable(*b().queue));
  EXPECT_FALSE(fabric().ArmedAndReadable(**other));
  EXPECT_EQ(PollOne(b()).id, 1u);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, CompletionQueues, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
