// When a wait is over, by a clock that nobody sets.
#ifndef SKEIN_CORE_BASE_DEADLINE_H_
#define SKEIN_CORE_BASE_DEADLINE_H_

#include <chrono>

#include "absl/time/time.h"

namespace skein {

using Clock = std::chrono::steady_clock;  // the wall's may be set
using Deadline = Clock::time_point;       // max(): never

// Now and `timeout`, which may be infinite.
Deadline After(absl::Duration timeout);
// Milliseconds for poll(2) and epoll_wait(2), rounded up; -1: for ever.
int TimeoutOf(Deadline deadline);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_DEADLINE_H_
