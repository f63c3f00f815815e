#include "core/base/forked.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace skein {
namespace {

// For a kernel, or a sandbox, that does not clear memory in children: the child clears this one itself.
constinit std::atomic<bool> cleared_by_handler{false};

// Before main, or in dlopen: the caller has one thread, or none that uses Skein. The memory stays for ever.
__attribute__((constructor)) void SetUp() {
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
    // Another constructor may have begun to use Skein.
    used_by_this_process = new (page) std::atomic<bool>(cleared_by_handler.load(std::memory_order_relaxed));
    return;
  }
  if (page != MAP_FAILED) munmap(page, size);
  pthread_atfork(nullptr, nullptr, [] { cleared_by_handler.store(false, std::memory_order_relaxed); });
}

}  // namespace

constinit std::atomic<bool>* used_by_this_process = &cleared_by_handler;

}  // namespace skein
