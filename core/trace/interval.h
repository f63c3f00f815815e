// What lies between two stages of a call that are known one after the other, and whose time it is.
//
// Between neighbours an interval has a name of its own ("combining"). Where the stages between are not known, several
// are one, which is named by its ends ("queued to posted"): nothing is guessed, and nothing is lost from the sum.
#ifndef SKEIN_CORE_TRACE_INTERVAL_H_
#define SKEIN_CORE_TRACE_INTERVAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "core/trace/stage.h"

namespace skein::trace {

// Whose time it is. kMixed: several of the others', in an interval over unknown stages.
enum class Work : uint8_t { kSoftware, kWire, kHandler, kMixed };

absl::string_view WorkName(Work work);

struct Interval {
  Stage from = Stage::kSubmitted;
  Stage to = Stage::kSubmitted;

  friend bool operator==(const Interval&, const Interval&) = default;
  friend bool operator<(const Interval& a, const Interval& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  }
  template <typename H>
  friend H AbslHashValue(H hash, const Interval& interval) {
    return H::combine(std::move(hash), interval.from, interval.to);
  }
};

std::string IntervalName(Interval interval);
Work WorkOf(Interval interval);

// An interval of one call.
struct Lasted {
  Interval interval;
  uint64_t start_ns;
  uint64_t ns;
};
using Intervals = absl::InlinedVector<Lasted, kStages>;

// From the first known stage to the last up to kReleased, without gaps: they add up to exactly what lies between these
// two. A time before its predecessor's or behind the last one's (the error of a converted clock) is moved to it, so
// that an interval is 0 rather than negative.
Intervals IntervalsOf(const StageTimes& times);
// From the first known stage to kPersisted, if both are known. Beside the others, not one of the sum.
std::optional<Lasted> PersistingOf(const StageTimes& times);

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_INTERVAL_H_
