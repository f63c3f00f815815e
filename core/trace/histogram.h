// How often which durations were: log-linear buckets, as HdrHistogram's.
#ifndef SKEIN_CORE_TRACE_HISTOGRAM_H_
#define SKEIN_CORE_TRACE_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace skein::trace {

// In nanoseconds, from 0 to 73 minutes; what is longer counts as that. Of one thread, or under a lock; 10 KB.
class Histogram {
 public:
  static constexpr uint64_t kMost = (uint64_t{1} << 42) - 1;

  void Record(uint64_t ns);
  void Merge(const Histogram& other);

  // The least duration that `percent` (0 .. 100) of all do not exceed; 0 without any. Off by 1/64 at most, and never
  // above Max().
  uint64_t Percentile(double percent) const;
  uint64_t Max() const { return max_; }  // exactly
  uint64_t Count() const { return count_; }
  uint64_t Sum() const { return sum_; }  // saturates

 private:
  // Each power of two is divided into so many; below twice as many each number has a bucket of its own.
  static constexpr size_t kDivisionBits = 5;
  static constexpr uint64_t kDivisions = uint64_t{1} << kDivisionBits;
  static constexpr size_t kBuckets = (42 - kDivisionBits + 1) * kDivisions;

  static size_t BucketOf(uint64_t ns);
  static uint64_t MiddleOf(size_t bucket);

  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
  std::array<uint64_t, kBuckets> counts_{};
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_HISTOGRAM_H_
