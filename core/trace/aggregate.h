// All records so far as histograms: how long each interval took, and each record as a whole.
#ifndef SKEIN_CORE_TRACE_AGGREGATE_H_
#define SKEIN_CORE_TRACE_AGGREGATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "core/trace/histogram.h"
#include "core/trace/interval.h"
#include "core/trace/record.h"

namespace skein::trace {

// Of what records a histogram is. In snapshots, by this order.
struct SeriesKey {
  RecordKind kind = RecordKind::kCall;
  Path path = Path::kShm;
  Side side = Side::kClient;
  uint32_t method = 0;  // of the MethodTable
  bool whole = false;   // from one end to the other of WholeOf; otherwise one of IntervalsOf or PersistingOf
  Interval interval;

  auto AsTuple() const { return std::tie(kind, path, side, method, whole, interval); }
  friend bool operator==(const SeriesKey&, const SeriesKey&) = default;
  friend bool operator<(const SeriesKey& a, const SeriesKey& b) { return a.AsTuple() < b.AsTuple(); }
  template <typename H>
  friend H AbslHashValue(H hash, const SeriesKey& key) {
    return H::combine(std::move(hash), key.AsTuple());
  }
};

struct Series {
  SeriesKey key;
  Histogram histogram;
  int64_t clock_error_ns = 0;  // the largest of its records
};

using AggregateSnapshot = std::vector<Series>;

// Any thread.
class Aggregate {
 public:
  // From so many on, what is new of a method goes to kOtherMethods': 10 MB, and at most as much again of those.
  static constexpr size_t kMostSeries = 1024;

  void Add(const Record& record) ABSL_LOCKS_EXCLUDED(mu_);
  // A copy of all that were added, by key.
  AggregateSnapshot Snapshot() ABSL_LOCKS_EXCLUDED(mu_);
  void Clear() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void AddTo(SeriesKey key, uint64_t ns, int64_t clock_error_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  absl::flat_hash_map<SeriesKey, std::unique_ptr<Series>> series_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_AGGREGATE_H_
