#ifndef SKEIN_CORE_BASE_FENCE_H_
#define SKEIN_CORE_BASE_FENCE_H_

#include <atomic>

namespace skein {

// No load or store before it becomes visible after one behind it. Between a store and a load of two words that another
// thread or process stores and loads the other way round (Dekker), at least one side sees the other's store.
inline void FullFence() {
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer knows no fences. Read-modify-writes of one word do the same between the threads of a process.
  static std::atomic<int> word{0};
  word.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace skein

#endif  // SKEIN_CORE_BASE_FENCE_H_
