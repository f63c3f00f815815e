// When a wait is over, by a clock that nobody sets.
#ifndef SKEIN_CORE_BASE_DEADLINE_H_
#define SKEIN_CORE_BASE_DEADLINE_H_

#include <chrono>

#include "absl/time/time.h"

namespace skein {

using Clock = std::chrono::steady_clock;  // the wall's may be set
using Deadline = Clock::time_point;       // max(): never

// This clock's now, for arithmetic with durations: its beginning means nothing.
absl::Time SteadyNow();
// The same, but it goes on while this machine is suspended, as other machines' clocks do.
absl::Time BootNow();
// Now and `timeout`, which may be infinite.
Deadline After(absl::Duration timeout);
// Milliseconds for poll(2) and epoll_wait(2), rounded up; -1: for ever.
int TimeoutOf(Deadline deadline);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_DEADLINE_H_
