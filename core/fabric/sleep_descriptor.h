// What a completion queue's user sleeps on: an epoll instance over the queue's own descriptors, and one for what none
// of those tells: an eventfd, or a pipe where others ring as well.
#ifndef SKEIN_CORE_FABRIC_SLEEP_DESCRIPTOR_H_
#define SKEIN_CORE_FABRIC_SLEEP_DESCRIPTOR_H_

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"

namespace skein::fabric {

// Any thread. Lock: mu_, a leaf.
class SleepDescriptor {
 public:
  // One of them, once, before anything else. `pipe`: its own end of a pipe that does not block, open for both ways.
  absl::Status Open();
  absl::Status Open(UniqueFd pipe);

  int fd() const { return epoll_.get(); }
  // Makes fd() readable whenever `fd` is or hangs up.
  absl::Status Watch(int fd);
  void Forget(int fd);
  // Makes fd() readable until Acknowledge.
  void Wake();
  // Whether that was so by Wake, or by who rang the pipe.
  bool Acknowledge();
  // -1: there is none.
  int pipe() const { return is_pipe_ ? event_.get() : -1; }

  // CompletionQueue::Sleep. The thread waits for the watched descriptors themselves: a wake-up by way of epoll loses
  // the kernel's hint that the thread that wakes goes to sleep itself, and then the sleeper queues up elsewhere.
  CompletionQueue::Woken Sleep(int also, int timeout_ms);

 private:
  // With more watched descriptors than this, the thread waits for fd().
  static constexpr size_t kMostWaitedFor = 16;

  absl::Status Begin();
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeStaleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  UniqueFd epoll_;
  UniqueFd event_;
  bool is_pipe_ = false;
  Mutex mu_;
  bool signaled_ ABSL_GUARDED_BY(mu_) = false;  // an eventfd: only then it is worth a read
  std::vector<int> watched_ ABSL_GUARDED_BY(mu_);
  int sleepers_ ABSL_GUARDED_BY(mu_) = 0;    // have a copy of `watched_`
  bool stale_ ABSL_GUARDED_BY(mu_) = false;  // `watched_` has changed since one of these copies was made
};

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_SLEEP_DESCRIPTOR_H_
