// The time limit of a spin, whose clock is looked at seldom. Then others may have the processor, too: there may be more
// that spin than processors.
#ifndef SKEIN_BENCH_MICRO_PATIENCE_H_
#define SKEIN_BENCH_MICRO_PATIENCE_H_

#include <sched.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace skein::bench {

inline constexpr absl::Duration kPatience = absl::Seconds(20);

class Patience {
 public:
  // Once per turn of the spin: DEADLINE_EXCEEDED when it has taken too long.
  absl::Status Spin() {
    if (++spins_ % kSeldom != 0) return absl::OkStatus();
    sched_yield();
    const absl::Time now = absl::Now();
    if (spins_ == kSeldom) end_ = now + kPatience;
    if (now <= end_) return absl::OkStatus();
    return absl::DeadlineExceededError("the other end does nothing any more");
  }

 private:
  static constexpr uint64_t kSeldom = 1024;
  uint64_t spins_ = 0;
  absl::Time end_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_PATIENCE_H_
