#include "bench/macro/schedule.h"

#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace skein::bench {

Schedule::Schedule(const Load& load, absl::Time start, int threads, int number)
    : interval_(load.rate > 0 ? absl::Seconds(threads / load.rate) : absl::ZeroDuration()),
      end_(start + load.duration),
      due_(start + interval_ * number / threads) {
  // By default Linux ends a sleep up to 50 us late, which would be half of what is measured.
  if (load.rate > 0) prctl(PR_SET_TIMERSLACK, 1UL);
}

std::optional<absl::Time> Schedule::Next() {
  const absl::Time now = absl::Now();
  if (interval_ == absl::ZeroDuration()) {
    const bool again = std::exchange(has_begun_, true);
    return again && now >= end_ ? std::nullopt : std::optional(now);
  }
  absl::SleepFor(std::min(due_, end_) - now);
  return due_ < end_ ? std::optional(std::exchange(due_, due_ + interval_)) : std::nullopt;
}

}  // namespace skein::bench
