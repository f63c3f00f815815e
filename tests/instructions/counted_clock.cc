#include "tests/instructions/counted_clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace skein::instructions {
namespace {

constexpr int64_t kLookNs = 1000;
constexpr int64_t kSecondNs = 1'000'000'000;

thread_local int64_t looks = -1;  // below 0: not begun
thread_local timespec began[CLOCK_BOOTTIME + 1];

int Machine(clockid_t clock, timespec* now) { return static_cast<int>(syscall(SYS_clock_gettime, clock, now)); }

}  // namespace

void BeginCountedClock() {
  for (clockid_t clock = 0; clock <= CLOCK_BOOTTIME; ++clock) Machine(clock, &began[clock]);
  looks = 0;
}

}  // namespace skein::instructions

// In place of libc's, for this program and the libraries it is linked to.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using namespace skein::instructions;  // NOLINT(google-build-using-namespace)
  if (looks < 0 || clock < 0 || clock > CLOCK_BOOTTIME) return Machine(clock, now);
  const int64_t ns = began[clock].tv_nsec + ++looks * kLookNs;
  *now = {began[clock].tv_sec + ns / kSecondNs, ns % kSecondNs};
  return 0;
}
