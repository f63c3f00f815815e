// The kernel's refusal of a call or a descriptor, in the midst of a connection.
#ifndef SKEIN_CORE_FABRIC_SHM_REFUSAL_H_
#define SKEIN_CORE_FABRIC_SHM_REFUSAL_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"

namespace skein::fabric::shm {

// The first one stays: a device that is opened anew has none. Any thread. Lock: mu_, a leaf.
class Refusal {
 public:
  void Note(const absl::Status& why) {
    MutexLock lock(&mu_);
    why_.Update(why);
  }
  absl::Status why() const {
    MutexLock lock(&mu_);
    return why_;
  }

 private:
  mutable Mutex mu_;
  absl::Status why_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_REFUSAL_H_
