// A child made by fork() sees its parent's connections, but their memory is not mapped there, and the threads that
// would end them are gone: it must leave them alone.
#ifndef SKEIN_CORE_BASE_FORKED_H_
#define SKEIN_CORE_BASE_FORKED_H_

#include <pthread.h>

#include <atomic>

namespace skein {

inline std::atomic<bool> in_forked_child{false};  // relaxed: set while the child has one thread

// Once, before the first connection.
inline void NoticeForks() {
  pthread_atfork(nullptr, nullptr, [] { in_forked_child.store(true, std::memory_order_relaxed); });
}
inline bool InForkedChild() { return in_forked_child.load(std::memory_order_relaxed); }

}  // namespace skein

#endif  // SKEIN_CORE_BASE_FORKED_H_
