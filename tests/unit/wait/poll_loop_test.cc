#include "core/wait/poll_loop.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/wait/spin.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/thread_state.h"

namespace skein::wait {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::Not;

constexpr absl::Duration kSoon = absl::Seconds(20);
constexpr SpinPolicy kBlock{WaitMode::kBlock, absl::ZeroDuration()};
constexpr SpinPolicy kPoll{WaitMode::kPoll, absl::ZeroDuration()};
constexpr SpinPolicy kHybrid{WaitMode::kHybrid, absl::Seconds(100)};

// Its messages are those that any thread writes to its descriptor.
class FakeSource final : public SharedSource {
 public:
  // `fd`: another one than its own, which the loop sees.
  explicit FakeSource(std::optional<int> fd = std::nullopt) : fd_(fd.value_or(own_.get())) {}

  void Arrive() const { eventfd_write(own_.get(), 1); }
  void Finish() { finished_ = true; }
  int taken() const { return taken_; }
  int polls() const { return polls_; }
  bool closed() const { return closed_; }

  bool Poll() override {
    ++polls_;
    if (polled_ != nullptr) polled_();
    eventfd_t count = 0;
    if (eventfd_read(own_.get(), &count) != 0) return false;
    taken_ += static_cast<int>(count);
    return true;
  }
  bool Arm() override { return true; }
  bool Drain() override { return true; }
  bool polled() const override { return false; }
  int fd() const override { return fd_; }
  bool finished() const override { return finished_; }
  bool Retire() override { return finished_; }
  fabric::CompletionQueue::Woken Sleep(int, int) override { return {}; }
  absl::Status Watch(int) override { return absl::OkStatus(); }
  void Forget(int) override {}
  void WakeSleeper() override {}
  void Close() override { closed_ = true; }

  std::function<void()> polled_;  // by Poll, of a test's one thread

 private:
  const UniqueFd own_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const int fd_;
  std::atomic<int> taken_ = 0;
  std::atomic<int> polls_ = 0;
  std::atomic<bool> finished_ = false;
  bool closed_ = false;
};

// A thread that turns a loop until Stop, and what the loop has told it.
class Serving {
 public:
  explicit Serving(const SpinPolicy& policy) : loop_(PollLoop::Create(policy).value()) {
    thread_ = std::thread([this] {
      id_ = gettid();
      while (!stopped_) {
        loop_->Turn(Deadline::max(), [](int) {});
        ++turns_;
      }
    });
    while (id_ == 0) std::this_thread::yield();
  }
  ~Serving() { Stop(); }
  void Stop() {
    stopped_ = true;
    loop_->Wake();
    if (thread_.joinable()) thread_.join();
  }

  PollLoop& loop() { return *loop_; }
  bool Sleeps() const { return ThreadState(id_).IsFoundAsleep(After(kSoon)); }
  int turns() const { return turns_; }

 private:
  const std::unique_ptr<PollLoop> loop_;
  std::atomic<pid_t> id_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> turns_ = 0;
  std::thread thread_;
};

bool TakesSoon(const FakeSource& source, int messages) {
  for (const Deadline end = After(kSoon); Clock::now() < end; std::this_thread::yield()) {
    if (source.taken() == messages) return true;
  }
  return false;
}

class PollLoopTest : public testing::Test {
 protected:
  std::shared_ptr<FakeSource> Watched(std::optional<int> fd = std::nullopt) {
    auto source = std::make_shared<FakeSource>(fd);
    loop_->Watch(source);
    Spin();
    return source;
  }
  bool Spin() {
    return loop_->Spin(absl::ZeroDuration(), Deadline::max(), [this](int fd) { told_.push_back(fd); });
  }
  void Sleep(Deadline deadline = Deadline::max()) {
    loop_->Sleep(deadline, [this](int fd) { told_.push_back(fd); });
  }

  const std::unique_ptr<PollLoop> loop_ = PollLoop::Create(kBlock).value();
  std::vector<int> told_;
};

TEST_F(PollLoopTest, AnyThreadMayGiveItASourceWhichIsPolledFromThenOn) {
  for (const SpinPolicy& policy : {kBlock, kHybrid, kPoll}) {
    Serving serving(policy);
    const auto source = std::make_shared<FakeSource>();
    serving.loop().Watch(source);
    for (int messages = 1; messages <= 3; ++messages) {
      source->Arrive();
      EXPECT_TRUE(TakesSoon(*source, messages));
    }
  }
}

TEST_F(PollLoopTest, WithoutWorkItsThreadSleepsUntilSomeComes) {
  Serving serving(kBlock);
  const auto source = std::make_shared<FakeSource>();
  serving.loop().Watch(source);
  for (int messages = 1; messages <= 3; ++messages) {
    EXPECT_TRUE(serving.Sleeps());
    source->Arrive();
    EXPECT_TRUE(TakesSoon(*source, messages));
  }
}

TEST_F(PollLoopTest, WakeEndsASleepAndASpinThatHasNoEnd) {
  for (const SpinPolicy& policy : {kBlock, kPoll}) {
    Serving serving(policy);
    serving.loop().Watch(std::make_shared<FakeSource>());
    serving.Stop();
    EXPECT_GE(serving.turns(), 1);
  }
}

TEST_F(PollLoopTest, WakeBeforeASleepEndsThatOne) {
  loop_->Wake();
  Sleep();
  EXPECT_TRUE(Spin()) << "what Wake was called for may have come while nobody looked";
  EXPECT_FALSE(Spin());
}

// The thread loses its processor in the spin's last poll: its last look at the descriptors finds Wake's note there.
TEST_F(PollLoopTest, WakeAtTheVeryEndOfASpinEndsTheNextSleep) {
  const auto source = Watched();
  source->polled_ = [&, last = source->polls() + wait::Spin::kSeldom + 1] {
    if (source->polls() != last) return;
    for (const Deadline late = After(absl::FromChrono(kLook)); Clock::now() <= late;) std::this_thread::yield();
    loop_->Wake();
  };
  EXPECT_FALSE(loop_->Spin(absl::Nanoseconds(1), Deadline::max(), [](int) {}));
  const Deadline end = After(kSoon);
  source->polled_ = nullptr;
  Sleep(end);
  EXPECT_LT(Clock::now(), end);
  EXPECT_TRUE(Spin());
}

TEST_F(PollLoopTest, TellsOfDescriptorsThatAreReadableAndNoSources) {
  const UniqueFd one(eventfd(1, EFD_CLOEXEC));
  const UniqueFd other(eventfd(0, EFD_CLOEXEC));
  ASSERT_EQ(loop_->WatchFd(one.get()), absl::OkStatus());
  ASSERT_EQ(loop_->WatchFd(other.get()), absl::OkStatus());
  EXPECT_FALSE(loop_->WatchFd(one.get()).ok()) << "twice";
  const auto source = Watched();
  source->Arrive();
  told_.clear();
  Sleep();
  EXPECT_THAT(told_, testing::ElementsAre(one.get()));
  loop_->ForgetFd(one.get());
  told_.clear();
  Sleep();
  EXPECT_THAT(told_, IsEmpty()) << "the source has ended this sleep";
}

TEST_F(PollLoopTest, LooksAtDescriptorsThoughMessagesComeWithoutEnd) {
  const UniqueFd readable(eventfd(1, EFD_CLOEXEC));
  const auto source = Watched();
  ASSERT_EQ(loop_->WatchFd(readable.get()), absl::OkStatus());
  told_.clear();
  for (const Deadline end = After(kSoon); told_.empty() && Clock::now() < end;) {
    source->Arrive();
    EXPECT_TRUE(Spin());
  }
  EXPECT_THAT(told_, Each(readable.get()));
  EXPECT_THAT(told_, Not(IsEmpty()));
}

// Another owner keeps it, and its descriptor is readable for ever.
TEST_F(PollLoopTest, AFinishedSourceIsDroppedAndKeepsNobodyAwake) {
  const auto source = Watched();
  EXPECT_FALSE(loop_->TakeFinished());
  source->Finish();
  EXPECT_TRUE(Spin());
  EXPECT_TRUE(loop_->TakeFinished());
  EXPECT_FALSE(loop_->TakeFinished());
  EXPECT_EQ(source.use_count(), 1);
  source->Arrive();
  const int polls = source->polls();
  const UniqueFd readable(eventfd(1, EFD_CLOEXEC));
  ASSERT_EQ(loop_->WatchFd(readable.get()), absl::OkStatus());
  told_.clear();
  while (told_.empty()) Sleep();  // that one alone ends it
  EXPECT_EQ(source->polls(), polls);
}

// epoll refuses a regular file's descriptor.
TEST_F(PollLoopTest, ASourceThatTheKernelDoesNotWatchIsPolledAllTheSame) {
  const UniqueFd file(memfd_create("refused by epoll", MFD_CLOEXEC));
  Serving serving(kBlock);
  const auto source = std::make_shared<FakeSource>(file.get());
  serving.loop().Watch(source);
  for (int messages = 1; messages <= 3; ++messages) {
    EXPECT_TRUE(serving.Sleeps());
    source->Arrive();
    EXPECT_TRUE(TakesSoon(*source, messages));
  }
}

TEST_F(PollLoopTest, SpinsWithoutEndWhileASourceCannotBeSleptOn) {
  EXPECT_EQ(loop_->BeginSpin(), absl::ZeroDuration());
  const auto source = Watched(/*fd=*/-1);
  EXPECT_EQ(loop_->BeginSpin(), absl::InfiniteDuration());
  source->Finish();
  Spin();
  EXPECT_EQ(loop_->BeginSpin(), absl::ZeroDuration());
}

TEST(PollLoopWithoutSources, SpinsInPollModeAlone) {
  EXPECT_EQ(PollLoop::Create(kHybrid).value()->BeginSpin(), absl::ZeroDuration());
  EXPECT_EQ(PollLoop::Create(kPoll).value()->BeginSpin(), absl::InfiniteDuration());
}

TEST_F(PollLoopTest, ASpinWithoutEndEndsAtItsDeadline) {
  const auto source = Watched();
  EXPECT_TRUE(loop_->Spin(absl::InfiniteDuration(), After(absl::Milliseconds(1)), [](int) {}));
  EXPECT_GE(source->polls(), 1);
}

TEST_F(PollLoopTest, CloseAllPollsAndClosesItsSources) {
  const auto source = Watched();
  const auto never_polled = std::make_shared<FakeSource>();
  loop_->Watch(never_polled);
  source->Arrive();
  loop_->CloseAll();
  EXPECT_EQ(source->taken(), 1) << "what had arrived";
  EXPECT_TRUE(source->closed());
  EXPECT_TRUE(never_polled->closed());
  EXPECT_EQ(source.use_count(), 1);
}

}  // namespace
}  // namespace skein::wait
