// A lock that threads spin on, as drivers of NICs have one for each queue pair's sends and each completion queue. Its
// takers come in the order of time, and have it in that order.
#ifndef SKEIN_BENCH_SIM_SERVICE_SPIN_LOCK_H_
#define SKEIN_BENCH_SIM_SERVICE_SPIN_LOCK_H_

#include <algorithm>
#include <cstddef>
#include <deque>

#include "absl/time/time.h"
#include "bench/sim/costs.h"

namespace skein::bench {

class SpinLock {
 public:
  explicit SpinLock(const CpuCosts& costs) : costs_(costs) {}

  // Thread `taker` wants it at `at`, and keeps it for `hold`. Returns when it has let it go. The line of the lock goes
  // round among those that wait, and among `others` that look at it all the time. The guarded lines must be fetched
  // if another thread had it last.
  absl::Time Take(absl::Time at, size_t taker, absl::Duration hold, size_t others = 0) {
    while (!ends_.empty() && ends_.front() <= at) ends_.pop_front();
    const size_t waiting = ends_.size();
    absl::Duration cost = costs_.swap + hold;
    if (last_ != taker) cost += 2 * costs_.shared_line;
    if (waiting + others > 0) cost += costs_.shared_line * (waiting + others);
    last_ = taker;
    free_ = std::max(free_, at) + cost;
    ends_.push_back(free_);
    return free_;
  }

 private:
  const CpuCosts costs_;
  absl::Time free_ = absl::InfinitePast();
  std::deque<absl::Time> ends_;  // of those that have it or wait
  size_t last_ = SIZE_MAX;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVICE_SPIN_LOCK_H_
