// A client's thread measures: when to begin and to end, and its figures.
#ifndef SKEIN_BENCH_APPS_MEASURED_H_
#define SKEIN_BENCH_APPS_MEASURED_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"

namespace skein::bench {

// Until the time is over, but not before there is something to tell. The first fifth of the time is not counted.
class Stopwatch {
 public:
  explicit Stopwatch(double seconds)
      : from_(absl::GetCurrentTimeNanos() + static_cast<int64_t>(seconds * 2e8)),
        until_(from_ + static_cast<int64_t>(seconds * 8e8)) {}

  bool Counts(int64_t begun) const { return begun >= from_; }
  bool IsOver(size_t counted) const { return absl::GetCurrentTimeNanos() >= until_ && counted >= kLeast; }
  double RateOf(size_t counted) const {
    return static_cast<double>(counted) * 1e9 / static_cast<double>(absl::GetCurrentTimeNanos() - from_);
  }

 private:
  static constexpr size_t kLeast = 200;

  const int64_t from_;
  const int64_t until_;
};

struct Measured {
  absl::Status status;
  std::vector<std::vector<int64_t>> latencies;  // by kind, nanoseconds
  double steps_per_s = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_APPS_MEASURED_H_
