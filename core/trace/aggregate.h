// All records so far as histograms: how long each interval took, and each record as a whole.
#ifndef SKEIN_CORE_TRACE_AGGREGATE_H_
#define SKEIN_CORE_TRACE_AGGREGATE_H_

#include <array>
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
  // All series of one method at one side of a path: by the whole and by intervals' ends, so that a record is looked up
  // once. Not owned; where there was no space for one, it is the other methods'.
  struct Row {
    SeriesKey key;  // of none of them
    Series* whole = nullptr;
    std::array<std::array<Series*, kStages>, kStages> parts{};
  };
  using RowKey = std::tuple<RecordKind, Path, Side, uint32_t>;

  Row& RowOf(SeriesKey key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Series& SeriesOf(Row& row, bool whole, Interval interval) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  std::vector<std::unique_ptr<Series>> series_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<RowKey, std::unique_ptr<Row>> rows_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_AGGREGATE_H_
