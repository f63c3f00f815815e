// A lock between one thread that takes it all the time and others that seldom try to: it costs its main user one atomic
// exchange, where a mutex costs two.
#ifndef SKEIN_THRIFT_TRANSPORT_TURN_H_
#define SKEIN_THRIFT_TRANSPORT_TURN_H_

#include <atomic>

#include "absl/base/thread_annotations.h"

namespace skein::thrift_transport {

// Others never wait for the main user, so its leaving wakes nobody.
class ABSL_LOCKABLE Turn {
 public:
  void Take() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    int state = kFree;
    while (!state_.compare_exchange_strong(state, kMain, std::memory_order_acquire, std::memory_order_relaxed)) {
      state_.wait(state, std::memory_order_relaxed);
      state = kFree;
    }
  }
  void Leave() ABSL_UNLOCK_FUNCTION() { state_.store(kFree, std::memory_order_release); }

  bool TryTake() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    int state = kFree;
    return state_.compare_exchange_strong(state, kOther, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void LeaveAsOther() ABSL_UNLOCK_FUNCTION() {
    Leave();
    state_.notify_one();
  }

 private:
  enum State : int { kFree, kMain, kOther };

  // Acquire by whoever takes it, release by whoever leaves it: what one has done is seen by the next.
  std::atomic<int> state_ = kFree;
};

// The main user's, in a scope.
class ABSL_SCOPED_LOCKABLE InTurn {
 public:
  explicit InTurn(Turn& turn) ABSL_EXCLUSIVE_LOCK_FUNCTION(turn) : turn_(turn) { turn_.Take(); }
  ~InTurn() ABSL_UNLOCK_FUNCTION() { turn_.Leave(); }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  Turn& turn_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_TURN_H_
