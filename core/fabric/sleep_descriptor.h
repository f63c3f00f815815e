// What a completion queue's user sleeps on: an epoll instance over the queue's own descriptors, and an eventfd for what
// none of those tells.
#ifndef SKEIN_CORE_FABRIC_SLEEP_DESCRIPTOR_H_
#define SKEIN_CORE_FABRIC_SLEEP_DESCRIPTOR_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"

namespace skein::fabric {

// Any thread. Lock: mu_, a leaf.
class SleepDescriptor {
 public:
  // Once, before anything else.
  absl::Status Open();

  int fd() const { return epoll_.get(); }
  // Makes fd() readable whenever `fd` is or hangs up.
  absl::Status Watch(int fd);
  void Forget(int fd);
  // Makes fd() readable until Acknowledge.
  void Wake();
  void Acknowledge();

 private:
  UniqueFd epoll_;
  UniqueFd event_;
  Mutex mu_;
  bool signaled_ ABSL_GUARDED_BY(mu_) = false;  // the eventfd: only then it is worth a read
};

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_SLEEP_DESCRIPTOR_H_
