// A child inherits nothing of Skein's if its parent had not begun to use it. Each test begins in a child that has
// used nothing, for the mark is the process's.
#include "core/base/forked.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/in_child.h"

namespace skein {
namespace {

int IsForkedChild() { return InForkedChild() ? 1 : 0; }

TEST(ForkedTest, AChildOfAProcessThatHasNotUsedSkeinBeginsAfresh) {
  EXPECT_EQ(InChild(IsForkedChild), 0);
  EXPECT_EQ(InChild([] { return InChild(IsForkedChild); }), 0) << "so does its own child";
}

TEST(ForkedTest, AChildOfAProcessThatUsesSkeinIsOneForEver) {
  const auto use = [] {
    BeginUse();
    if (InForkedChild()) return 2;
    return InChild([] {
      BeginUse();
      return 10 * IsForkedChild() + InChild(IsForkedChild);
    });
  };
  EXPECT_EQ(InChild(use), 11);
}

TEST(ForkedTest, AChildThatUsesSkeinItselfMarksItsOwnChildrenOnly) {
  const auto use = [] {
    BeginUse();
    return 10 * IsForkedChild() + InChild(IsForkedChild);
  };
  EXPECT_EQ(InChild(use), 1);
}

// The first use of Skein falls between a fork's beginning and the copy of the memory. glibc runs no handler for the
// child that was registered so late.
TEST(ForkedTest, AUseThatBeginsDuringAForkMarksTheChild) {
  const auto use = [] {
    pthread_atfork(BeginUse, nullptr, nullptr);
    return InChild(IsForkedChild);
  };
  EXPECT_EQ(InChild(use), 1);
}

TEST(ForkedTest, AChildThatTheKernelMakesWithoutTheCLibraryIsMarked) {
  const auto use = [] {
    BeginUse();
    const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) _exit(IsForkedChild());
    return StatusOf(child);
  };
  EXPECT_EQ(InChild(use), 1);
}

// A thread begins to use Skein while another one forks: the child may see the mark without the lock, never the lock
// without the mark.
TEST(ForkedTest, AChildThatFindsALockTakenFindsTheMark) {
  const auto race = [] {
    std::mutex mu;
    std::atomic<bool> goes = false;
    std::atomic<bool> over = false;
    std::thread uses([&] {
      goes = true;
      while (!over) {
        BeginUse();
        const std::lock_guard lock(mu);
      }
    });
    while (!goes) std::this_thread::yield();
    const int status = InChild([&mu] { return mu.try_lock() || InForkedChild() ? 0 : 1; });
    over = true;
    uses.join();
    return status;
  };
  for (int i = 0; i < 100; ++i) ASSERT_EQ(InChild(race), 0) << "round " << i;
}

}  // namespace
}  // namespace skein
