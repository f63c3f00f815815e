#include "core/trace/clock_offset.h"

#include <algorithm>

namespace skein::trace {
namespace {

constexpr int64_t kMillion = 1'000'000;

int64_t Signed(uint64_t ns) { return static_cast<int64_t>(ns); }

// Of times below kMostNs: fits.
int64_t Difference(uint64_t a, uint64_t b) { return Signed(a) - Signed(b); }

uint64_t Distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

// What the two ways took; the clocks' drift may make it negative.
int64_t RoundTrip(const ClockSample& sample) {
  return Difference(sample.returned, sample.sent) - Difference(sample.answered, sample.received);
}

}  // namespace

uint64_t ToMyClock(uint64_t peer_ns, const ClockEstimate& estimate) {
  if (peer_ns == 0 || peer_ns >= ClockOffset::kMostNs) return 0;
  return static_cast<uint64_t>(std::max<int64_t>(0, Signed(peer_ns) - estimate.offset_ns));
}

int64_t ClockOffset::DriftIn(uint64_t ns) const {
  return (Signed(std::min(ns, kMostNs)) / kMillion + 1) * Signed(drift_ppm_);
}

bool ClockOffset::Plausible(const ClockSample& sample) const {
  if (sample.returned >= kMostNs || sample.answered >= kMostNs) return false;
  if (sample.returned < sample.sent || sample.answered < sample.received) return false;
  return RoundTrip(sample) >= -DriftIn(sample.returned - sample.sent);
}

// In the middle of what it may be: had the way there taken no time, received - sent; the way back, answered - returned.
int64_t ClockOffset::OffsetOf(const ClockSample& sample) {
  const int64_t least = Difference(sample.answered, sample.returned);
  return least + RoundTrip(sample) / 2;
}

int64_t ClockOffset::ErrorAt(const ClockSample& sample, uint64_t my_now) const {
  // From the end of the sample that is farther away: somewhere between them the clocks were as it says.
  const uint64_t age = std::max(Distance(my_now, sample.sent), Distance(my_now, sample.returned));
  return std::max<int64_t>(0, RoundTrip(sample)) / 2 + 1 + DriftIn(age);
}

bool ClockOffset::Add(const ClockSample& sample) {
  if (!Plausible(sample)) return false;
  const std::optional<ClockEstimate> known = EstimateAt(sample.returned);
  if (known.has_value()) {
    const int64_t apart = OffsetOf(sample) - known->offset_ns;
    if (std::max(apart, -apart) > known->error_ns + ErrorAt(sample, sample.returned)) count_ = 0;
  }
  samples_[next_] = sample;
  next_ = (next_ + 1) % kWindow;
  count_ = std::min(count_ + 1, kWindow);
  return true;
}

std::optional<ClockEstimate> ClockOffset::EstimateAt(uint64_t my_now) const {
  std::optional<ClockEstimate> best;
  for (size_t i = 1; i <= count_; ++i) {
    const ClockSample& sample = samples_[(next_ + kWindow - i) % kWindow];
    const int64_t error = ErrorAt(sample, my_now);
    if (!best.has_value() || error < best->error_ns) best = {OffsetOf(sample), error};
  }
  return best;
}

}  // namespace skein::trace
