// A descriptor that says what a poll would say of a socket, for a stream: an eventfd.
//
// An event loop watches for one of readable and writable at a time, so one counter says both: 0 nothing to read, 1
// something, its largest value nothing can be written.
#ifndef SKEIN_CORE_STREAM_READINESS_H_
#define SKEIN_CORE_STREAM_READINESS_H_

#include <sys/eventfd.h>

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"

namespace skein::stream {

// Any thread. Lock: mu_, a leaf, held over the eventfd's system calls.
class Readiness {
 public:
  Readiness() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int fd() const { return event_.get(); }  // -1: there was none to be had

  // What it was before.
  bool SetReadable(bool readable) {
    MutexLock lock(&mu_);
    const bool was = std::exchange(readable_, readable);
    Show();
    return was;
  }
  void SetBlocked(bool blocked) {
    MutexLock lock(&mu_);
    blocked_ = blocked;
    Show();
  }

  // By the reader: makes the descriptor say what `readable` says, and returns that. The reader shows that there is
  // nothing before it asks for the last time: an arrival in between makes the descriptor readable again.
  bool Tell(absl::FunctionRef<bool()> readable) {
    for (bool was_readable = true; was_readable;) {
      if (readable()) {
        SetReadable(true);
        return true;
      }
      was_readable = SetReadable(false);
    }
    return false;
  }

 private:
  static constexpr uint64_t kBlocked = UINT64_MAX - 1;  // the next write of one would wait

  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const uint64_t value = blocked_ ? kBlocked : readable_ ? 1 : 0;
    if (value == shown_) return;
    eventfd_t ignored = 0;
    if (std::exchange(shown_, value) != 0) eventfd_read(event_.get(), &ignored);
    if (value != 0) eventfd_write(event_.get(), value);
  }

  const UniqueFd event_;
  Mutex mu_;
  bool readable_ ABSL_GUARDED_BY(mu_) = false;
  bool blocked_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t shown_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_READINESS_H_
