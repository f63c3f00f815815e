#include "core/wait/atomics.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace skein::wait {
namespace {

// A leader's turn takes a microsecond or two; waking a sleeper takes ten times that.
constexpr int kSpins = 50;
// A leader that was preempted gets a processor sooner if those who wait for it give up theirs.
constexpr int kYields = 10;

void RelaxProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool SystemAtomics::Pause(int round) {
  if (round < kSpins) {
    RelaxProcessor();
  } else {
    sched_yield();
  }
  return round < kSpins + kYields;
}

void SystemAtomics::Park(const std::atomic<uint32_t>& word, uint32_t value) {
  static_assert(sizeof(word) == sizeof(value));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void SystemAtomics::Unpark(const void* address) {
  syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace skein::wait
