// Requests that a device forgets, on a fake one that does nothing by itself.
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "core/fabric/verbs/queue_pair.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/unit/fabric_verbs/fake_device.h"

namespace skein::fabric::verbs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ProgressTest : public testing::Test {
 protected:
  static constexpr int kLongMs = 60000;
  static constexpr int kTwiceMs = 80;  // of the device's patience

  ProgressTest() { EXPECT_EQ(Connect(*sender_, *peer_), absl::OkStatus()); }

  std::unique_ptr<VerbsQueuePair> NewQueuePair(bool peer_always_receives) {
    QueuePairOptions options;
    options.send_queue = options.receive_queue = queue_.get();
    options.peer_always_receives = peer_always_receives;
    return VerbsQueuePair::Create(device_.port(), options, queue_.get(), queue_.get()).value();
  }

  void Send(bool signaled = true) { ASSERT_TRUE(Post(*sender_, Request(Opcode::kWrite, {}, {}, 7, signaled)).ok()); }

  bool IsWoken(int timeout_ms) {
    pollfd readable = {queue_->fd(), POLLIN, 0};
    return poll(&readable, 1, timeout_ms) == 1;
  }

  std::vector<Completion> Poll() {
    std::vector<Completion> completions(64);
    completions.resize(queue_->Poll(absl::MakeSpan(completions)));
    return completions;
  }

  // What a thread is told that sleeps whenever there is nothing, until `over`.
  template <typename Over>
  std::vector<Completion> SleepAndPollUntil(Over over) {
    std::vector<Completion> all;
    while (!over() && IsWoken(kLongMs)) {
      queue_->AckEvents();
      for (const Completion& completion : Poll()) all.push_back(completion);
    }
    EXPECT_TRUE(over()) << "nobody was woken";
    return all;
  }

  bool Failed() const { return sender_->state() == QueuePairState::kError; }

  FakeDevice device_;
  std::unique_ptr<VerbsCompletionQueue> queue_ = VerbsCompletionQueue::Create(device_.port()->context, 64).value();
  std::unique_ptr<VerbsQueuePair> sender_ = NewQueuePair(/*peer_always_receives=*/true);
  std::unique_ptr<VerbsQueuePair> peer_ = NewQueuePair(/*peer_always_receives=*/true);
};

TEST_F(ProgressTest, ARequestThatTheDeviceForgetsEndsItsQueuePair) {
  Send();
  EXPECT_THAT(Ids(SleepAndPollUntil([&] { return Failed(); })), ElementsAre(7));
  EXPECT_TRUE(absl::IsUnavailable(sender_->error()));
  EXPECT_THAT(std::string(sender_->error().message()), HasSubstr("has told nothing of a request for 40ms"));
  EXPECT_EQ(peer_->state(), QueuePairState::kReady) << "which has nothing outstanding";
}

TEST_F(ProgressTest, AQuestionThatTheDeviceForgetsEndsItsQueuePairToo) {
  sender_->RefreshState();
  EXPECT_THAT(SleepAndPollUntil([&] { return Failed(); }), IsEmpty()) << "nobody has posted anything";
}

TEST_F(ProgressTest, AThreadThatNeverSleepsNoticesToo) {
  Send();
  while (!Failed()) Poll();
  EXPECT_THAT(Ids(Poll()), ElementsAre(7));
}

// Whether it was done, the device tells by what follows it.
TEST_F(ProgressTest, ARequestWhoseEndTheDeviceNeedNotTellIsAskedAfterOnce) {
  Send(/*signaled=*/false);
  SleepAndPollUntil([&] { return device_.sends() == 2; });
  device_.DoSends();
  EXPECT_THAT(Poll(), IsEmpty()) << "it did not ask to be told";
  SleepAndPollUntil([&] { return !IsWoken(kTwiceMs); });
  EXPECT_EQ(device_.sends(), 0u);
  EXPECT_EQ(sender_->state(), QueuePairState::kReady);
}

TEST_F(ProgressTest, AnAnswerThatNobodyHasReadInTimeCounts) {
  Send();
  SleepAndPollUntil([&] { return device_.sends() == 2; });
  device_.DoSends();
  absl::SleepFor(absl::Milliseconds(kTwiceMs));  // as a process that is stopped
  EXPECT_EQ(sender_->RefreshState(), QueuePairState::kReady);
  EXPECT_THAT(Ids(Poll()), ElementsAre(7));
}

TEST_F(ProgressTest, ARequestThatMayWaitForAReceiveIsNotWatched) {
  sender_ = NewQueuePair(/*peer_always_receives=*/false);
  ASSERT_EQ(Connect(*sender_, *NewQueuePair(false)), absl::OkStatus());
  Send();
  EXPECT_FALSE(IsWoken(kTwiceMs));
  EXPECT_EQ(sender_->state(), QueuePairState::kReady);
}

}  // namespace
}  // namespace skein::fabric::verbs
