// Whether a lock can be had in a forked child. A thread of the parent may have held the lock at the fork, and no thread
// of the child will ever release it. Where objects are made by parents and by children alike, InForkedChild() says too
// little: a child's own objects are in order.
#ifndef SKEIN_CORE_BASE_LOST_AT_FORK_H_
#define SKEIN_CORE_BASE_LOST_AT_FORK_H_

#include <atomic>
#include <cstdint>

#include "core/base/forked.h"
#include "core/base/mutex.h"

namespace skein {

// Beside a lock, which is taken in the process before the first fork without more ado. Any thread.
class LostAtFork {
 public:
  // `mu` lives as long as this.
  explicit LostAtFork(Mutex& mu) : mu_(mu) {}
  LostAtFork(const LostAtFork&) = delete;
  LostAtFork& operator=(const LostAtFork&) = delete;

  // Asked before each time that the lock is taken, not under it. True: it must not be, for a thread of the parent has
  // it; the state under it stays as it is, for good. Costs two loads, and in a child getpid().
  bool IsLost() { return InForkedChild() && IsLostInChild(); }

 private:
  bool IsLostInChild();

  Mutex& mu_;
  // Of the process that has asked last: its id, and what it has found. The first thread of a process that asks tries
  // the lock. No other thread of that process has the lock by then, since each asks before: so the lock is taken only
  // if a thread of the parent had it. Release, with what it has found; acquire, by all that ask later.
  std::atomic<uint64_t> found_{0};
};

}  // namespace skein

#endif  // SKEIN_CORE_BASE_LOST_AT_FORK_H_
