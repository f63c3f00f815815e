// What the kernel says of a thread of this process.
#ifndef SKEIN_TESTS_SUPPORT_THREAD_STATE_H_
#define SKEIN_TESTS_SUPPORT_THREAD_STATE_H_

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/unique_fd.h"

namespace skein {

// Keeps its descriptor: a test may ask when the process has no more of them.
class ThreadState {
 public:
  explicit ThreadState(pid_t thread)
      : status_(open(absl::StrCat("/proc/self/task/", thread, "/status").c_str(), O_RDONLY | O_CLOEXEC)) {}

  // How often the thread has gone to sleep by itself. A yield does not count.
  uint64_t sleeps() const { return std::stoull(Field("voluntary_ctxt_switches")); }

  // Whether the thread sleeps at any time from now on until `deadline`: a thread that spins never does.
  bool IsFoundAsleep(Deadline deadline) const {
    do {
      if (Field("State").front() == 'S') return true;
      std::this_thread::yield();
    } while (Clock::now() < deadline);
    return false;
  }
  // Whether the thread has slept more often than that by `deadline`.
  bool SleepsAgain(uint64_t sleeps_before, Deadline deadline) const {
    for (; Clock::now() < deadline; std::this_thread::yield()) {
      if (sleeps() > sleeps_before) return true;
    }
    return false;
  }

 private:
  std::string Field(const std::string& name) const {
    std::array<char, 8192> text;
    const ssize_t size = pread(status_.get(), text.data(), text.size(), 0);
    const std::string all(text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
    const size_t at = all.find("\n" + name + ":\t");
    return at == std::string::npos ? "?" : all.substr(at + name.size() + 3);
  }

  const UniqueFd status_;
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_THREAD_STATE_H_
