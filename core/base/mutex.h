// A lock, and its holder in a scope.
//
// Not Abseil's, for its price in Debian, whose Abseil is built to look for deadlocks: 55 ns a lock instead of 16, and
// in each the one spin lock of the whole process. A setting of the process turns that off, but it is not ours to make.
// What it would find in tests, TSan finds.
#ifndef SKEIN_CORE_BASE_MUTEX_H_
#define SKEIN_CORE_BASE_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace skein {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mu_.try_lock(); }

 private:
  std::mutex mu_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) { mu_->Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mu_;
};

// A locked Mutex as std::condition_variable_any wants it.
struct Lockable {
  Mutex& mu;
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu.Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu.Unlock(); }
};

}  // namespace skein

#endif  // SKEIN_CORE_BASE_MUTEX_H_
