// absl::MutexLock as every Abseil takes it: older ones have no reference, and newer ones want no pointer, and
// Lock by another name.
#ifndef SKEIN_TESTS_SUPPORT_HELD_H_
#define SKEIN_TESTS_SUPPORT_HELD_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace skein {

// Holds the lock as long as it lives; the lock outlives it.
class ABSL_SCOPED_LOCKABLE Held {
 public:
  explicit Held(absl::Mutex& mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) { Lock(mu_); }
  ~Held() ABSL_UNLOCK_FUNCTION() { Unlock(mu_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  template <typename Mutex>
  static void Lock(Mutex& mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (requires { mu.lock(); }) {
      mu.lock();
    } else {
      mu.Lock();
    }
  }
  template <typename Mutex>
  static void Unlock(Mutex& mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (requires { mu.unlock(); }) {
      mu.unlock();
    } else {
      mu.Unlock();
    }
  }

  absl::Mutex& mu_;
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_HELD_H_
