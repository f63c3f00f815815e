#include "bench/macro/schedule.h"

#include <sys/prctl.h>

#include <algorithm>

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
  const absl::Time since = interval_ == absl::ZeroDuration() ? now : due_;
  absl::SleepFor(std::min(since, end_) - now);
  if (since >= end_) return std::nullopt;
  due_ += interval_;
  return since;
}

}  // namespace skein::bench
