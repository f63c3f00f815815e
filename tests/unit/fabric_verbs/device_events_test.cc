// What a device says of itself, on a fake one: Soft-RoCE neither fails nor is taken from those who use it.
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "core/fabric/verbs/queue_pair.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/unit/fabric_verbs/fake_device.h"

namespace skein::fabric::verbs {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class DeviceEventsTest : public testing::Test {
 protected:
  DeviceEventsTest() {
    EXPECT_EQ(Connect(*one_, *other_), absl::OkStatus());
    GiveWork(*one_, 10);
    GiveWork(*other_, 20);
  }

  std::unique_ptr<VerbsQueuePair> NewQueuePair(VerbsCompletionQueue& queue, SharedReceiveQueue* shared = nullptr) {
    QueuePairOptions options;
    options.send_queue = options.receive_queue = &queue;
    options.shared_receive_queue = shared;
    return VerbsQueuePair::Create(device_.port(), options, &queue, &queue).value();
  }

  // Two requests and a receive, with these ids.
  static void GiveWork(VerbsQueuePair& queue_pair, uint64_t first) {
    for (const uint64_t id : {first, first + 1}) {
      EXPECT_TRUE(Post(queue_pair, Request(Opcode::kWrite, {}, {}, id, /*signaled=*/true)).ok());
    }
    EXPECT_TRUE(PostReceive(queue_pair, {}, first + 2).ok());
  }

  // As who sleeps on the queue's descriptor does.
  std::vector<Completion> AwaitCompletions() {
    pollfd readable = {queue_->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&readable, 1, 0), 1) << "nobody is woken";
    queue_->AckEvents();
    std::vector<Completion> completions(64);
    completions.resize(queue_->Poll(absl::MakeSpan(completions)));
    return completions;
  }

  FakeDevice device_;
  std::unique_ptr<VerbsCompletionQueue> queue_ = VerbsCompletionQueue::Create(device_.port()->context, 64).value();
  std::unique_ptr<VerbsQueuePair> one_ = NewQueuePair(*queue_);
  std::unique_ptr<VerbsQueuePair> other_ = NewQueuePair(*queue_);
};

TEST_F(DeviceEventsTest, OfADeviceThatHasFailedNothingIsAwaited) {
  device_.Tell(IBV_EVENT_DEVICE_FATAL);
  const std::vector<Completion> completions = AwaitCompletions();
  EXPECT_THAT(Ids(completions), UnorderedElementsAre(10, 11, 12, 20, 21, 22));
  EXPECT_THAT(Statuses(completions), Each(CompletionStatus::kFlushed));
  EXPECT_TRUE(device_.port()->context->gone());
  for (VerbsQueuePair* const ended : {one_.get(), other_.get()}) {
    EXPECT_EQ(ended->state(), QueuePairState::kError);
    EXPECT_THAT(std::string(ended->error().message()), HasSubstr("fake: it has failed"));
    EXPECT_TRUE(absl::IsFailedPrecondition(Post(*ended, Request(Opcode::kWrite, {}))));
  }
}

TEST_F(DeviceEventsTest, AQueuePairThatHasFailedIsFlushedByItsDevice) {
  device_.Tell(IBV_EVENT_QP_FATAL, 1);
  const std::vector<Completion> completions = AwaitCompletions();
  EXPECT_THAT(Ids(completions), UnorderedElementsAre(20, 21, 22));
  EXPECT_EQ(other_->state(), QueuePairState::kError);
  EXPECT_EQ(one_->state(), QueuePairState::kReady);
  EXPECT_FALSE(device_.port()->context->gone());
}

// The device reports neither results nor flushed requests through it.
TEST_F(DeviceEventsTest, AFailedCompletionQueueEndsItsQueuePairsAndFlushesTheirRequests) {
  const auto another_queue = VerbsCompletionQueue::Create(device_.port()->context, 64).value();
  const std::unique_ptr<VerbsQueuePair> third = NewQueuePair(*another_queue);
  const std::unique_ptr<VerbsQueuePair> fourth = NewQueuePair(*another_queue);
  ASSERT_EQ(Connect(*third, *fourth), absl::OkStatus());
  device_.Tell(IBV_EVENT_CQ_ERR, 1);
  const std::vector<Completion> completions = AwaitCompletions();
  EXPECT_THAT(Ids(completions), UnorderedElementsAre(10, 11, 12, 20, 21, 22));
  EXPECT_THAT(Statuses(completions), Each(CompletionStatus::kFlushed));
  for (VerbsQueuePair* const ended : {one_.get(), other_.get()}) {
    EXPECT_EQ(ended->state(), QueuePairState::kError);
    EXPECT_THAT(std::string(ended->error().message()), HasSubstr("a completion queue has failed"));
  }
  EXPECT_EQ(third->state(), QueuePairState::kReady);
  EXPECT_EQ(fourth->state(), QueuePairState::kReady);
}

// Its queue pairs could still send, and would wait for ever for their peers' messages.
TEST_F(DeviceEventsTest, AFailedSharedReceiveQueueEndsItsQueuePairs) {
  const auto shared = VerbsSharedReceiveQueue::Create(device_.port(), 8).value();
  const std::unique_ptr<VerbsQueuePair> third = NewQueuePair(*queue_, shared.get());
  const std::unique_ptr<VerbsQueuePair> fourth = NewQueuePair(*queue_);
  ASSERT_EQ(Connect(*third, *fourth), absl::OkStatus());
  ASSERT_TRUE(Post(*third, Request(Opcode::kWrite, {}, {}, 30, /*signaled=*/true)).ok());
  device_.Tell(IBV_EVENT_SRQ_ERR, 2);
  EXPECT_THAT(Ids(AwaitCompletions()), testing::ElementsAre(30));
  EXPECT_EQ(third->state(), QueuePairState::kError);
  EXPECT_THAT(std::string(third->error().message()), HasSubstr("a shared receive queue has failed"));
  EXPECT_EQ(fourth->state(), QueuePairState::kReady);
  EXPECT_EQ(one_->state(), QueuePairState::kReady);
}

TEST_F(DeviceEventsTest, WhatComesOfADestroyedQueuePairIsNobodys) {
  device_.Tell(IBV_EVENT_QP_FATAL, 1);
  other_ = nullptr;
  EXPECT_TRUE(AwaitCompletions().empty());
  EXPECT_EQ(one_->state(), QueuePairState::kReady);
}

TEST_F(DeviceEventsTest, WhoClosesWhenTheDeviceIsGoneNeedNotWaitForIt) {
  device_.Tell(IBV_EVENT_DEVICE_FATAL);
  one_->Close();  // before anybody has heard of it
  EXPECT_THAT(Ids(AwaitCompletions()), testing::IsSupersetOf({10, 11, 12}));
}

}  // namespace
}  // namespace skein::fabric::verbs
