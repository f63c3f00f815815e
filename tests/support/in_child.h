// What a child made by fork() finds.
#ifndef SKEIN_TESTS_SUPPORT_IN_CHILD_H_
#define SKEIN_TESTS_SUPPORT_IN_CHILD_H_

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

namespace skein {

// Where Abseil is compiled with assertions, its Mutex looks for deadlocks under a spin lock of the process's. In a
// child the thread that had the spin lock at the fork is missing, and the child would wait for it for ever.
inline const bool kLooksForNoDeadlocks = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();

// Waits for the child to end. Its exit status; -1: a signal ended it.
inline int StatusOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Exit status of a child that does this. A child that hangs is ended after 20 s.
inline int InChild(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(act());
  }
  return StatusOf(child);
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_IN_CHILD_H_
