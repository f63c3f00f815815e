#include "core/wait/wait_set.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/fabric/sleep_descriptor.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/thread_state.h"

namespace skein::wait {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(20);
constexpr SpinPolicy kBlock{WaitMode::kBlock, absl::ZeroDuration()};

// What it has to do comes from the test, and is done by the thread that polls.
class FakeSource final : public SharedSource {
 public:
  struct Refuses {
    bool watches = false;
    bool wake_ups = false;  // another thread has taken them out of the descriptor
  };
  explicit FakeSource(Refuses refuses) : refuses_(refuses) { EXPECT_TRUE(descriptor_.Open().ok()); }
  FakeSource() : FakeSource(Refuses{}) {}

  void Arrive(std::function<void()> work) {
    const std::lock_guard lock(mu_);
    work_.push_back(std::move(work));
    descriptor_.Wake();
  }

  bool Poll() override {
    const std::unique_lock polling(polling_, std::try_to_lock);
    if (!polling.owns_lock()) return false;
    descriptor_.Acknowledge();
    const std::vector<std::function<void()>> work = Take();
    for (const std::function<void()>& each : work) each();
    return !work.empty();
  }
  bool Arm() override {
    const std::lock_guard lock(mu_);
    return work_.empty();
  }
  bool Drain() override {
    Poll();
    return true;
  }
  bool polled() const override { return false; }
  int fd() const override { return descriptor_.fd(); }
  bool finished() const override { return false; }
  bool Retire() override { return false; }
  fabric::CompletionQueue::Woken Sleep(int also, int timeout_ms) override {
    return descriptor_.Sleep(also, timeout_ms);
  }
  absl::Status Watch(int fd) override {
    return refuses_.watches ? absl::ResourceExhaustedError("no watch") : descriptor_.Watch(fd);
  }
  void Forget(int fd) override { descriptor_.Forget(fd); }
  void WakeSleeper() override {
    if (!refuses_.wake_ups) descriptor_.Wake();
  }
  void Close() override {}

 private:
  std::vector<std::function<void()>> Take() {
    const std::lock_guard lock(mu_);
    return std::exchange(work_, {});
  }

  const Refuses refuses_;
  fabric::SleepDescriptor descriptor_;
  std::mutex polling_;
  std::mutex mu_;
  std::vector<std::function<void()>> work_;
};

// A thread that waits, without a spin.
class WaitingThread {
 public:
  explicit WaitingThread(WaitSet& set) : set_(set) {
    waiter_.Begin();
    thread_ = std::thread([this] {
      number_ = gettid();
      const Deadline soon = After(kSoon);
      came_ = set_.Wait(waiter_, soon) && Clock::now() < soon;
      returned_ = true;
    });
    while (number_ == 0) std::this_thread::yield();
    state_.emplace(number_);
    EXPECT_TRUE(state_->IsFoundAsleep(After(kSoon)));
  }
  ~WaitingThread() {
    if (thread_.joinable()) thread_.join();
  }
  // By the thread that polls.
  void Complete() { set_.Complete(waiter_); }
  // Whether its wait succeeds.
  bool Came() {
    thread_.join();
    return came_;
  }
  bool sleeps() const { return !returned_ && state_->IsFoundAsleep(Clock::now()); }

 private:
  WaitSet& set_;
  Waiter waiter_;
  std::atomic<pid_t> number_ = 0;
  std::atomic<bool> returned_ = false;
  bool came_ = false;
  std::optional<ThreadState> state_;
  std::thread thread_;
};

// The first one has the poller role. A thread that is woken in the middle of its poll may take its processor.
TEST(WaitSetTest, APollWakesNobodyBeforeItsEnd) {
  const auto source = std::make_shared<FakeSource>();
  WaitSet set(source, kBlock);
  WaitingThread poller(set);
  std::vector<std::unique_ptr<WaitingThread>> others;
  for (int i = 0; i < 20; ++i) others.push_back(std::make_unique<WaitingThread>(set));
  ptrdiff_t still_asleep = 0;
  source->Arrive([&] {
    for (const auto& each : others) each->Complete();
    still_asleep = std::count_if(others.begin(), others.end(), [](const auto& each) { return each->sleeps(); });
  });
  for (const auto& each : others) EXPECT_TRUE(each->Came());
  source->Arrive([&] { poller.Complete(); });
  EXPECT_TRUE(poller.Came());
  EXPECT_EQ(still_asleep, std::ssize(others));
}

// The thread that polls leaves the role, and one that sleeps takes it.
TEST(WaitSetTest, TheRoleIsPassedOn) {
  const auto source = std::make_shared<FakeSource>();
  WaitSet set(source, kBlock);
  WaitingThread first(set);
  WaitingThread second(set);
  source->Arrive([&] { first.Complete(); });
  EXPECT_TRUE(first.Came());
  source->Arrive([&] { second.Complete(); });
  EXPECT_TRUE(second.Came());
}

// Connections whose peers close them, and who is told.
class ConnectionsTest : public testing::Test {
 protected:
  struct Connection {
    UniqueFd own, peers;
    std::shared_ptr<NegotiationConnection> liveness = std::make_shared<NegotiationConnection>();
    int ended = 0;
  };

  static void Connect(Connection& connection) {
    std::array<int, 2> ends;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    connection.own = UniqueFd(ends[0]);
    connection.peers = UniqueFd(ends[1]);
    connection.liveness->fd = connection.own.get();
    connection.liveness->on_end = [&connection] { ++connection.ended; };
  }

  WaitSet set_{std::make_shared<FakeSource>(), {}};
};

TEST_F(ConnectionsTest, OneThatEndsIsToldOnce) {
  Connection ended, other;
  for (Connection* each : {&ended, &other}) {
    Connect(*each);
    EXPECT_TRUE(set_.Add(each->liveness).ok());
  }
  EXPECT_FALSE(set_.LookAtConnections());
  ended.peers.Reset();
  EXPECT_TRUE(set_.LookAtConnections());
  EXPECT_FALSE(set_.LookAtConnections());
  EXPECT_EQ(ended.ended, 1);
  EXPECT_EQ(other.ended, 0);
  set_.Remove(other.liveness);
}

// Of two that have ended, whichever is told first makes way, with the other, for new ones that get their numbers.
TEST_F(ConnectionsTest, ANewOneIsNotTakenForTheOneThatHadItsNumber) {
  std::array<Connection, 2> ended, later;
  const auto replace = [&](size_t i) {
    set_.Remove(ended[i].liveness);
    const int number = ended[i].own.get();
    Connect(later[i]);
    ASSERT_EQ(dup3(later[i].own.get(), number, O_CLOEXEC), number);  // closes what had it
    later[i].own = std::move(ended[i].own);
    later[i].liveness->fd = number;
    ASSERT_TRUE(set_.Add(later[i].liveness).ok());
  };
  for (Connection& each : ended) {
    Connect(each);
    each.liveness->on_end = [&] {
      ++each.ended;
      for (const size_t i : {0, 1}) replace(i);
    };
    ASSERT_TRUE(set_.Add(each.liveness).ok());
  }
  for (Connection& each : ended) each.peers.Reset();
  EXPECT_TRUE(set_.LookAtConnections());
  EXPECT_EQ(ended[0].ended + ended[1].ended, 1);
  for (Connection& each : later) {
    EXPECT_EQ(each.ended, 0);
    set_.Remove(each.liveness);
  }
}

// Nothing can wake the waiting thread, so the thread looks every few milliseconds.
TEST_F(ConnectionsTest, AWaitingThreadLooksAtOneThatTheKernelDoesNotWatch) {
  WaitSet set(std::make_shared<FakeSource>(FakeSource::Refuses{.watches = true}), kBlock);
  Connection connection;
  Connect(connection);
  std::optional<WaitingThread> thread;
  connection.liveness->on_end = [&] { thread->Complete(); };
  EXPECT_FALSE(set.Add(connection.liveness).ok());
  thread.emplace(set);
  connection.peers.Reset();
  EXPECT_TRUE(thread->Came());
}

TEST(WaitSetTest, WithoutADescriptorOfItsOwnItForgetsNoWaitingThread) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  const auto source = std::make_shared<FakeSource>(FakeSource::Refuses{.wake_ups = true});
  std::optional<WaitSet> set;
  {
    const DescriptorLimit none(0);
    set.emplace(source, kBlock);
  }
  WaitingThread thread(*set);
  thread.Complete();
  EXPECT_TRUE(thread.Came());
}

}  // namespace
}  // namespace skein::wait
