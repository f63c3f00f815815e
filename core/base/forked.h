// A child made by fork() sees its parent's connections, but their memory is not mapped there, and the threads that
// would end them are gone: the child must leave them alone. And if a thread of the parent held a lock of Skein's, no
// thread of the child will ever release that lock: such a child uses TCP. A parent that has not begun to use Skein
// leaves nothing of the kind to its child (daemon() after start-up, a worker of a server that forks before it accepts):
// the child begins afresh.
//
// Two marks tell the child. A thread sets both before it uses Skein: before it takes a lock, starts a thread, makes a
// link. The child inherits one of them, and the kernel clears the other (madvise, MADV_WIPEONFORK). So a process that
// finds the inherited mark alone has a parent that used Skein. A handler of pthread_atfork could not tell: a fork that
// had begun when the parent registered the handler does not run it, and neither does a child made by clone().
//
// Why marks are enough. A child has a copy of its parent's memory. That copy breaks no thread's order of stores: while
// the kernel copies the page tables, a store either still reaches the page that parent and child will share, or waits
// in its page fault until the copy is complete. So if the child sees a lock taken, or anything else of Skein's changed,
// it sees the mark, too, as long as the mark was stored first. The fence keeps compiler and processor to that order. A
// thread that finds the mark set by another thread stores its own changes after that for the same reason.
#ifndef SKEIN_CORE_BASE_FORKED_H_
#define SKEIN_CORE_BASE_FORKED_H_

#include <atomic>

#include "core/base/fence.h"

namespace skein {

// Stored with release order after used_by_this_process. A thread that reads this mark with acquire order sees the other
// one, too: no thread of this process sees this mark alone. Each copy of this library in a process has a pair of its
// own, and both marks of a pair are that copy's.
extern std::atomic<bool> used_by_this_process_or_parent;

// In memory that a child finds cleared. Set up before main, or when the library is loaded.
extern std::atomic<bool>* used_by_this_process;

// A caller is about to use Skein in a way that a child must not find half done. Costs a load; any thread.
inline void BeginUse() {
  if (used_by_this_process_or_parent.load(std::memory_order_relaxed)) return;
  used_by_this_process->store(true, std::memory_order_relaxed);
  used_by_this_process_or_parent.store(true, std::memory_order_release);
  FullFence();
}

// Whether an ancestor of this process used Skein when this process, or one between them, was forked. Any thread.
inline bool InForkedChild() {
  return used_by_this_process_or_parent.load(std::memory_order_acquire) &&
         !used_by_this_process->load(std::memory_order_relaxed);
}

}  // namespace skein

#endif  // SKEIN_CORE_BASE_FORKED_H_
