// Threads that sleep on descriptors that come and go meanwhile.
#include "core/fabric/sleep_descriptor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/support/thread_state.h"

namespace skein::fabric {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(20);

class SleepDescriptorTest : public testing::Test {
 protected:
  SleepDescriptorTest() {
    EXPECT_TRUE(sleep_.Open().ok());
    std::array<int, 2> ends;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    own_ = UniqueFd(ends[0]);
    peers_ = UniqueFd(ends[1]);
  }
  ~SleepDescriptorTest() override {
    eventfd_write(also_.get(), 1);
    sleeper_.join();
  }

  // Starts a thread that sleeps, and sleeps again after each wake-up; returns when it sleeps.
  void BeginSleeping(std::function<void()> woken_by_queue) {
    std::atomic<pid_t> id = 0;
    sleeper_ = std::thread([&id, this, woken_by_queue = std::move(woken_by_queue)] {
      id = gettid();
      for (CompletionQueue::Woken woken; !woken.by_also;) {
        woken = sleep_.Sleep(also_.get(), -1);
        sleep_.Acknowledge();
        if (woken.by_queue) woken_by_queue();
      }
    });
    while (id == 0) std::this_thread::yield();
    EXPECT_TRUE(ThreadState(id).IsFoundAsleep(After(kSoon)));
  }
  void Echo() {
    char byte = 0;
    if (recv(own_.get(), &byte, 1, MSG_DONTWAIT) == 1) send(own_.get(), &byte, 1, 0);
  }
  static bool IsReadable(int fd) {
    pollfd waits = {fd, POLLIN, 0};
    return poll(&waits, 1, static_cast<int>(absl::ToInt64Milliseconds(kSoon))) == 1;
  }

  SleepDescriptor sleep_;
  UniqueFd own_;
  UniqueFd peers_;
  const UniqueFd also_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::thread sleeper_;
};

TEST_F(SleepDescriptorTest, ASleeperHearsOfWhatIsWatchedMeanwhile) {
  BeginSleeping([this] { Echo(); });
  ASSERT_TRUE(sleep_.Watch(own_.get()).ok());
  ASSERT_EQ(send(peers_.get(), "x", 1, 0), 1);
  EXPECT_TRUE(IsReadable(peers_.get()));
}

// Another thread polls, and acknowledges the event that was to tell the sleeper.
TEST_F(SleepDescriptorTest, SoItDoesThoughAnotherThreadAcknowledgesAtOnce) {
  BeginSleeping([this] { Echo(); });
  ASSERT_TRUE(sleep_.Watch(own_.get()).ok());
  sleep_.Acknowledge();
  ASSERT_EQ(send(peers_.get(), "x", 1, 0), 1);
  EXPECT_TRUE(IsReadable(peers_.get()));
}

// poll(2) keeps a file open that another thread closes.
TEST_F(SleepDescriptorTest, ASleeperDoesNotKeepAForgottenConnectionOpen) {
  ASSERT_TRUE(sleep_.Watch(own_.get()).ok());
  BeginSleeping([] {});
  sleep_.Forget(own_.get());
  own_.Reset();
  EXPECT_TRUE(IsReadable(peers_.get())) << "the peer does not hear of the end";
}

}  // namespace
}  // namespace skein::fabric
