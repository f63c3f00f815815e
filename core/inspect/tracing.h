// Tracing as the skein command sees it in another process: switched on and off, its figures, its counters.
#ifndef SKEIN_CORE_INSPECT_TRACING_H_
#define SKEIN_CORE_INSPECT_TRACING_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/deadline.h"
#include "core/inspect/attachment.h"
#include "core/trace/aggregate.h"
#include "core/trace/method_table.h"
#include "core/trace/metric_family.h"

namespace skein::inspect {

// The verbs
//
//     trace          how many calls there are for one that is traced; 0: off
//     trace N        so many from now on, until it is said again
//     trace N S      so many for S seconds, or until `trace back`; then as it was before: who asks may die meanwhile
//     trace back
//     trace clear    what was found so far is forgotten
//     series         what was found so far: EncodeSeries
//     record N       the next N traced calls are kept
//     recorded       these, as Chrome's trace events in JSON; they are kept no longer
//     metrics        the same and the counters, as Prometheus' text
//
// Once per process; any thread.
void HandleTracing();

// By the process's connections: the first one's `every` counts, 0 for none.
void TraceFromTheStart(int64_t every);

// One histogram of trace::Aggregate, in nanoseconds.
struct SeriesFigures {
  bool call = true;  // or a message
  std::string path;
  bool client = true;
  std::string method;
  bool whole = true;        // from end to end, or one interval of that:
  uint64_t from_stage = 0;  // by which intervals of one call are in order
  std::string interval;     // "wire"
  std::string work;         // "software", "wire", "handler", "mixed"
  uint64_t count = 0;
  uint64_t sum = 0;
  uint64_t p50 = 0;
  uint64_t p90 = 0;
  uint64_t p99 = 0;
  uint64_t p999 = 0;
  uint64_t max = 0;
  uint64_t clock_error = 0;  // of the times that came from another host

  friend bool operator==(const SeriesFigures&, const SeriesFigures&) = default;
};

std::vector<SeriesFigures> FiguresOf(const trace::AggregateSnapshot& snapshot, const trace::MethodTable& methods);
// As one process tells them to another, a line each. Decode: DATA_LOSS if `text` is none of these.
std::string EncodeSeries(const std::vector<SeriesFigures>& series);
absl::StatusOr<std::vector<SeriesFigures>> DecodeSeries(absl::string_view text);
// Another process's; errors are Ask's.
absl::StatusOr<std::vector<SeriesFigures>> AskSeries(pid_t process);

// What each library of another process counts and measures; the label "library" tells them apart. Errors are Ask's, and
// DATA_LOSS if it is none of what trace::CheckMetrics takes.
absl::StatusOr<trace::MetricFamilies> AskMetrics(pid_t process, Deadline end = AnswerLimits().end);
// The same of a skeind's virtual queue pairs; INVALID_ARGUMENT: it is none.
absl::StatusOr<trace::MetricFamilies> AskQueuePairMetrics(pid_t process);

}  // namespace skein::inspect

#endif  // SKEIN_CORE_INSPECT_TRACING_H_
