// How far another host's clock is from this one's, from the times of messages there and back, as NTP finds it. Pure.
#ifndef SKEIN_CORE_TRACE_CLOCK_OFFSET_H_
#define SKEIN_CORE_TRACE_CLOCK_OFFSET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace skein::trace {

// A message there and one back, in nanoseconds of two clocks. What the peer says of its own is not trusted.
struct ClockSample {
  uint64_t sent;      // by my clock
  uint64_t received;  // by the peer's
  uint64_t answered;  // by the peer's
  uint64_t returned;  // by my clock
};

// The peer's clock minus mine lies within error_ns of offset_ns.
struct ClockEstimate {
  int64_t offset_ns;
  int64_t error_ns;
};

// A time of the peer's as one of mine; 0, not known, stays so, and is what comes of one that is none of this clock's.
uint64_t ToMyClock(uint64_t peer_ns, const ClockEstimate& estimate);

// Of one peer. Not thread-safe.
class ClockOffset {
 public:
  // Two quartz clocks of 25 ppm each, away from each other.
  static constexpr uint32_t kDriftPpm = 50;
  // Of the last so many samples the best counts.
  static constexpr size_t kWindow = 16;
  // Clocks of hosts that have been up for more than 73 years are taken for lies.
  static constexpr uint64_t kMostNs = uint64_t{1} << 61;

  // `drift_ppm`: by how much the clocks go apart at most, in nanoseconds a millisecond; 1000 at most.
  explicit ClockOffset(uint32_t drift_ppm = kDriftPpm) : drift_ppm_(drift_ppm) {}

  // False: it cannot be true (a message that came before it was sent, an answer that took longer than the whole), and
  // is ignored. One that contradicts the earlier ones replaces them: a clock has stood still, or was moved.
  bool Add(const ClockSample& sample);

  // For times of about `my_now`, by my clock. None before the first sample. With true samples and clocks that drift no
  // faster than said, the offset then lies within the error, however unequal the two ways were.
  std::optional<ClockEstimate> EstimateAt(uint64_t my_now) const;

 private:
  // The error of what a sample says, at my_now: half of what the ways took, and the drift since.
  int64_t ErrorAt(const ClockSample& sample, uint64_t my_now) const;
  static int64_t OffsetOf(const ClockSample& sample);
  bool Plausible(const ClockSample& sample) const;
  int64_t DriftIn(uint64_t ns) const;

  const uint32_t drift_ppm_;
  std::array<ClockSample, kWindow> samples_{};  // the last `count_`, in a ring
  size_t count_ = 0;
  size_t next_ = 0;
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_CLOCK_OFFSET_H_
