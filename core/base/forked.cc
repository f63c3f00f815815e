#include "core/base/forked.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace skein {
namespace {

// Some kernels and sandboxes do not clear memory in children. There a handler in the child clears this mark.
constinit std::atomic<bool> cleared_by_handler{false};

// QEMU's user mode takes any advice and follows none: the kernel refuses one that does not exist.
bool IsClearedInChildren(void* page, size_t size) {
  constexpr int kNoAdvice = -1;
  return madvise(page, size, MADV_WIPEONFORK) == 0 && madvise(page, size, kNoAdvice) != 0;
}

// Ahead of all other constructors, or in dlopen: no other thread uses Skein yet. The memory stays for ever.
__attribute__((constructor(101))) void SetUp() {
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && IsClearedInChildren(page, size)) {
    used_by_this_process = new (page) std::atomic<bool>(used_by_this_process->load(std::memory_order_relaxed));
    return;
  }
  if (page != MAP_FAILED) munmap(page, size);
  pthread_atfork(nullptr, nullptr, [] { cleared_by_handler.store(false, std::memory_order_relaxed); });
}

}  // namespace

constinit std::atomic<bool> used_by_this_process_or_parent{false};
constinit std::atomic<bool>* used_by_this_process = &cleared_by_handler;

}  // namespace skein
