#include "core/base/deadline.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace skein {

absl::Time SteadyNow() { return absl::UnixEpoch() + absl::FromChrono(Clock::now().time_since_epoch()); }

absl::Time BootNow() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::TimeFromTimespec(now);
}

Deadline After(absl::Duration timeout) {
  const Deadline now = Clock::now();
  const std::chrono::nanoseconds longest = Deadline::max() - now;
  const std::chrono::nanoseconds asked = absl::ToChronoNanoseconds(timeout);
  return asked >= longest ? Deadline::max() : now + std::chrono::duration_cast<Clock::duration>(asked);
}

int TimeoutOf(Deadline deadline) {
  if (deadline == Deadline::max()) return -1;
  const Deadline now = Clock::now();
  if (deadline <= now) return 0;  // min(), too, from which nothing can be subtracted
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::min<int64_t>(left, 1 << 30));
}

}  // namespace skein
