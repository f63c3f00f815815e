// The wake-ups of one poll, made after it. A poll that completes many threads' waiters would otherwise make a system
// call for each, in the middle of its work: the kernel may give this thread's processor to a woken thread, and then all
// others wait for the rest of the poll.
#ifndef SKEIN_CORE_WAIT_WAKES_H_
#define SKEIN_CORE_WAIT_WAKES_H_

#include "absl/container/inlined_vector.h"
#include "core/wait/atomics.h"

namespace skein::wait {

// On a thread's stack, around its poll and the locks that it holds for that. While there is one, Unpark by this thread
// waits for its end: of several, for the end of the outermost. Not around a sleep.
class Wakes {
 public:
  // Tests count with a `wake` of their own.
  using Wake = void(const void* address);
  explicit Wakes(Wake* wake = SystemAtomics::Unpark) : wake_(wake), outermost_(current == nullptr) {
    if (outermost_) current = this;
  }
  Wakes(const Wakes&) = delete;
  Wakes& operator=(const Wakes&) = delete;
  ~Wakes() {
    if (!outermost_) return;
    current = nullptr;
    for (const void* address : addresses_) wake_(address);
  }
  bool any() const { return !addresses_.empty(); }

  // As SystemAtomics::Unpark, which touches no memory: the owner of the address may be gone when its turn comes.
  static void Unpark(const void* address) {
    current == nullptr ? SystemAtomics::Unpark(address) : current->addresses_.push_back(address);
  }

 private:
  static thread_local constinit inline Wakes* current = nullptr;

  Wake* const wake_;
  const bool outermost_;
  absl::InlinedVector<const void*, 16> addresses_;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_WAKES_H_
