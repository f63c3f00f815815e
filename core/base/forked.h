// A child made by fork() sees its parent's connections, but their memory is not mapped there, and the threads that
// would end them are gone: the child must leave them alone. And if a thread of the parent held a lock of Skein's, no
// thread of the child will ever release that lock: such a child uses TCP. A parent that has not begun to use Skein
// leaves nothing of the kind to its child (daemon() after start-up, a worker of a server that forks before it accepts):
// the child begins afresh.
//
// Why a mark is enough. A thread sets the mark before it uses Skein: before it takes a lock, starts a thread, makes a
// link. A child has a copy of its parent's memory. That copy breaks no thread's order of stores: while the kernel
// copies the page tables, a store either still reaches the page that parent and child will share, or waits in its page
// fault until the copy is complete. So if the child sees a lock taken, or anything else of Skein's changed, it sees the
// mark, too, as long as the mark was stored first. The fence keeps compiler and processor to that order. A
// thread that finds the mark set by another thread stores its own changes after that for the same reason.
//
// The thread that sets the mark installs the handler first: a child that is made between the two steps has no mark.
#ifndef SKEIN_CORE_BASE_FORKED_H_
#define SKEIN_CORE_BASE_FORKED_H_

#include <pthread.h>

#include <atomic>

#include "core/base/fence.h"

namespace skein {

inline std::atomic<bool> skein_is_used{false};    // relaxed, with the fence below
inline std::atomic<bool> in_forked_child{false};  // relaxed: stored while the child has one thread

// A caller is about to use Skein in a way that a child must not find half done. Costs a load; any thread.
inline void BeginUse() {
  if (skein_is_used.load(std::memory_order_relaxed)) return;
  pthread_atfork(nullptr, nullptr, [] {
    in_forked_child.store(skein_is_used.load(std::memory_order_relaxed), std::memory_order_relaxed);
  });
  skein_is_used.store(true, std::memory_order_relaxed);
  FullFence();
}

// Whether an ancestor of this process used Skein when this process, or one between them, was forked.
inline bool InForkedChild() { return in_forked_child.load(std::memory_order_relaxed); }

}  // namespace skein

#endif  // SKEIN_CORE_BASE_FORKED_H_
