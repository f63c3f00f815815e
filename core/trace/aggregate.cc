#include "core/trace/aggregate.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "core/trace/method_table.h"

namespace skein::trace {

namespace {

void AddTo(Series& series, uint64_t ns, int64_t clock_error_ns) {
  series.histogram.Record(ns);
  series.clock_error_ns = std::max(series.clock_error_ns, clock_error_ns);
}

}  // namespace

void Aggregate::Add(const Record& record) {
  const Intervals intervals = IntervalsOf(record.times);
  const std::optional<Lasted> persisting = PersistingOf(record.times);
  const Interval whole = WholeOf(record.kind, record.side);
  const uint64_t start = At(record.times, whole.from);
  const uint64_t end = At(record.times, whole.to);
  MutexLock lock(&mu_);
  Row& row = RowOf({record.kind, record.path, record.side, record.method, false, {}});
  for (const Lasted& each : intervals) AddTo(SeriesOf(row, false, each.interval), each.ns, record.clock_error_ns);
  if (persisting.has_value()) {
    AddTo(SeriesOf(row, false, persisting->interval), persisting->ns, record.clock_error_ns);
  }
  if (start != 0 && end != 0) AddTo(SeriesOf(row, true, whole), std::max(start, end) - start, record.clock_error_ns);
}

Aggregate::Row& Aggregate::RowOf(SeriesKey key) {
  auto found = rows_.find({key.kind, key.path, key.side, key.method});
  if (found != rows_.end()) return *found->second;
  // The others' are few, whoever names the methods.
  if (series_.size() >= kMostSeries && key.method != kNoMethod) key.method = kOtherMethods;
  found = rows_.try_emplace({key.kind, key.path, key.side, key.method}).first;
  if (found->second == nullptr) found->second = std::make_unique<Row>(Row{.key = key});
  return *found->second;
}

Series& Aggregate::SeriesOf(Row& row, bool whole, Interval interval) {
  Series*& place = whole ? row.whole : row.parts[static_cast<size_t>(interval.from)][static_cast<size_t>(interval.to)];
  if (place != nullptr) return *place;
  if (series_.size() >= kMostSeries && row.key.method != kNoMethod && row.key.method != kOtherMethods) {
    place = &SeriesOf(RowOf({row.key.kind, row.key.path, row.key.side, kOtherMethods, false, {}}), whole, interval);
    return *place;
  }
  SeriesKey key = row.key;
  key.whole = whole;
  key.interval = interval;
  series_.push_back(std::make_unique<Series>(Series{key, {}, 0}));
  place = series_.back().get();
  return *place;
}

AggregateSnapshot Aggregate::Snapshot() {
  AggregateSnapshot snapshot;
  {
    MutexLock lock(&mu_);
    snapshot.reserve(series_.size());
    for (const std::unique_ptr<Series>& series : series_) snapshot.push_back(*series);
  }
  absl::c_sort(snapshot, [](const Series& a, const Series& b) { return a.key < b.key; });
  return snapshot;
}

void Aggregate::Clear() {
  MutexLock lock(&mu_);
  rows_.clear();
  series_.clear();
}

}  // namespace skein::trace
