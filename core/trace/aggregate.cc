#include "core/trace/aggregate.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "core/trace/method_table.h"

namespace skein::trace {

void Aggregate::Add(const Record& record) {
  SeriesKey key{record.kind, record.path, record.side, record.method, false, {}};
  const Intervals intervals = IntervalsOf(record.times);
  const std::optional<Lasted> persisting = PersistingOf(record.times);
  MutexLock lock(&mu_);
  for (const Lasted& each : intervals) {
    key.interval = each.interval;
    AddTo(key, each.ns, record.clock_error_ns);
  }
  if (persisting.has_value()) {
    key.interval = persisting->interval;
    AddTo(key, persisting->ns, record.clock_error_ns);
  }
  key.whole = true;
  key.interval = WholeOf(record.kind, record.side);
  const uint64_t start = At(record.times, key.interval.from);
  const uint64_t end = At(record.times, key.interval.to);
  if (start != 0 && end != 0) AddTo(key, std::max(start, end) - start, record.clock_error_ns);
}

void Aggregate::AddTo(SeriesKey key, uint64_t ns, int64_t clock_error_ns) {
  auto found = series_.find(key);
  if (found == series_.end()) {
    // The others' are few, whoever names the methods.
    if (series_.size() >= kMostSeries && key.method != kNoMethod) key.method = kOtherMethods;
    found = series_.try_emplace(key).first;
    if (found->second == nullptr) found->second = std::make_unique<Series>(Series{key, {}, 0});
  }
  Series& series = *found->second;
  series.histogram.Record(ns);
  series.clock_error_ns = std::max(series.clock_error_ns, clock_error_ns);
}

AggregateSnapshot Aggregate::Snapshot() {
  AggregateSnapshot snapshot;
  {
    MutexLock lock(&mu_);
    snapshot.reserve(series_.size());
    for (const auto& [key, series] : series_) snapshot.push_back(*series);
  }
  absl::c_sort(snapshot, [](const Series& a, const Series& b) { return a.key < b.key; });
  return snapshot;
}

void Aggregate::Clear() {
  MutexLock lock(&mu_);
  series_.clear();
}

}  // namespace skein::trace
