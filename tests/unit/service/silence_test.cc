// skeinds that have been stopped, or hang: their sockets stay open.
#include <poll.h>

#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::CompletionStatus;
using ::testing::HasSubstr;

constexpr absl::Duration kSilence = absl::Milliseconds(200);

// Sleeps as a program does, until the queue has something. False: nothing for 20 s.
bool SleepFor(fabric::CompletionQueue& queue, fabric::Completion& out) {
  return Eventually([&] {
    if (queue.Poll({&out, 1}) == 1) return true;
    EXPECT_EQ(queue.Arm(), absl::OkStatus());
    if (queue.Poll({&out, 1}) == 1) return true;
    queue.Sleep(-1, 20'000);
    queue.AckEvents();
    return queue.Poll({&out, 1}) == 1;
  });
}

// A process of the one host, connected to one of the other.
class SilentSkeind : public TwoHosts {
 protected:
  SilentSkeind() { EXPECT_EQ(Connect(*pair_, *peers_), absl::OkStatus()); }
  ~SilentSkeind() override { one_.Hang(false); }
  void Post() {
    const fabric::SendRequest write = process_.Write(peer_.memory->remote(), 5);
    ASSERT_EQ(pair_->PostSend({&write, 1}), absl::OkStatus());
  }
  void ExpectGivenUp() {
    EXPECT_EQ(pair_->state(), fabric::QueuePairState::kError);
    EXPECT_THAT(pair_->error().message(), HasSubstr("skeind does not answer"));
    EXPECT_THAT(process_.device->Usable().message(), HasSubstr("skeind does not answer"));
  }

  Process process_{one_, 256, kSilence};
  Process peer_{other_};
  const std::unique_ptr<fabric::QueuePair> pair_ = NewPair(process_, 0);
  const std::unique_ptr<fabric::QueuePair> peers_ = NewPair(peer_);
};

TEST_F(SilentSkeind, IsFoundOutByWhoSleeps) {
  one_.Hang(true);
  Post();
  fabric::Completion flushed;
  ASSERT_TRUE(SleepFor(*process_.completions, flushed));
  EXPECT_EQ(flushed.id, 5U);
  EXPECT_EQ(flushed.status, CompletionStatus::kFlushed);
  ExpectGivenUp();
}

TEST_F(SilentSkeind, IsFoundOutByWhoPolls) {
  one_.Hang(true);
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).at(0).status, CompletionStatus::kFlushed);
  ExpectGivenUp();
}

// It was there when it was asked first; the completion is still to come.
TEST_F(SilentSkeind, WithARequestUnderWay) {
  HoldTime(true);
  Post();
  fabric::Completion none;
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(3 * kSilence);
  while (std::chrono::steady_clock::now() < until) ASSERT_EQ(process_.completions->Poll({&none, 1}), 0U);
  ASSERT_EQ(pair_->state(), fabric::QueuePairState::kReady) << "it has answered, though nothing has completed";
  one_.Hang(true);
  HoldTime(false);
  fabric::Completion flushed;
  ASSERT_TRUE(SleepFor(*process_.completions, flushed));
  EXPECT_EQ(flushed.status, CompletionStatus::kFlushed);
  ExpectGivenUp();
}

TEST_F(SilentSkeind, WakesAllThatSleep) {
  const auto other_queue = process_.device->CreateCompletionQueue(16).value();
  one_.Hang(true);
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).size(), 1U);
  pollfd wait = {other_queue->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 1);
}

TEST_F(SilentSkeind, ThatGoesOnServesAgain) {
  Couple couple(one_, other_);
  one_.Hang(true);
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).size(), 1U);
  one_.Hang(false);
  couple.ExpectWorks();  // nobody had missed it
  EXPECT_TRUE(Ended(*peers_)) << "it has let go of what had given it up";
  Couple(one_, other_).ExpectWorks();
}

// Nobody is woken for it while nothing is to be done: neither the process, nor skeind.
TEST_F(SilentSkeind, IsAskedForAsLongAsSomethingIsUnderWay) {
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).at(0).status, CompletionStatus::kSuccess);
  const auto sleeps = [&](absl::Duration time) {
    ASSERT_EQ(process_.completions->Arm(), absl::OkStatus());
    fabric::Completion none;
    ASSERT_EQ(process_.completions->Poll({&none, 1}), 0U);
    const bool woken = process_.completions->Sleep(-1, static_cast<int>(absl::ToInt64Milliseconds(time))).by_queue;
    process_.completions->AckEvents();
    EXPECT_EQ(woken, time == absl::Seconds(10));
  };
  sleeps(absl::Seconds(10));  // and looks at the answer
  sleeps(3 * kSilence);
}

}  // namespace
}  // namespace skein::service
