#include "core/trace/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace skein::trace {
namespace {

uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum < a ? std::numeric_limits<uint64_t>::max() : sum;
}

}  // namespace

// The highest kDivisionBits + 1 bits say which: how many lie below them, and what they are.
size_t Histogram::BucketOf(uint64_t ns) {
  const size_t width = std::bit_width(ns);
  const size_t shift = width > kDivisionBits + 1 ? width - (kDivisionBits + 1) : 0;
  return shift * kDivisions + (ns >> shift);
}

uint64_t Histogram::MiddleOf(size_t bucket) {
  if (bucket < 2 * kDivisions) return bucket;
  const size_t shift = bucket / kDivisions - 1;
  const uint64_t least = (bucket % kDivisions + kDivisions) << shift;
  return least + (uint64_t{1} << shift) / 2;
}

void Histogram::Record(uint64_t ns) {
  ns = std::min(ns, kMost);
  ++counts_[BucketOf(ns)];
  ++count_;
  sum_ = SaturatedSum(sum_, ns);
  max_ = std::max(max_, ns);
}

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ = SaturatedSum(sum_, other.sum_);
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::Percentile(double percent) const {
  if (count_ == 0) return 0;
  const double below = std::clamp(percent, 0.0, 100.0) * static_cast<double>(count_) / 100;
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(below)));
  if (rank >= count_) return max_;
  uint64_t seen = 0;
  size_t bucket = 0;
  while ((seen += counts_[bucket]) < rank) ++bucket;
  return std::min(MiddleOf(bucket), max_);
}

}  // namespace skein::trace
