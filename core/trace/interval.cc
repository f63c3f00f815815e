#include "core/trace/interval.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace skein::trace {
namespace {

constexpr size_t kLast = static_cast<size_t>(Stage::kReleased);

struct Named {
  absl::string_view name;
  Work work;
};

// Between a stage and the next one.
constexpr std::array<Named, kLast> kNeighbours = {{
    {"framework, client", Work::kSoftware},
    {"combining", Work::kSoftware},
    {"posting", Work::kSoftware},
    {"wire", Work::kWire},
    {"dispatch", Work::kSoftware},
    {"framework, server", Work::kSoftware},
    {"handler", Work::kHandler},
    {"reply, framework", Work::kSoftware},
    {"reply, posting", Work::kSoftware},
    {"reply, wire", Work::kWire},
    {"reply, delivery", Work::kSoftware},
    {"return", Work::kSoftware},
}};

size_t Index(Stage stage) { return static_cast<size_t>(stage); }

// kLast + 1: none.
size_t FirstKnown(const StageTimes& times) {
  size_t stage = 0;
  while (stage <= kLast && times[stage] == 0) ++stage;
  return stage;
}

// Only where one is known.
size_t LastKnown(const StageTimes& times) {
  size_t stage = kLast;
  while (times[stage] == 0) --stage;
  return stage;
}

}  // namespace

absl::string_view WorkName(Work work) {
  constexpr std::array<absl::string_view, 4> kNames = {"software", "wire", "handler", "mixed"};
  return kNames[static_cast<size_t>(work)];
}

std::string IntervalName(Interval interval) {
  const size_t from = Index(interval.from);
  if (from < kLast && Index(interval.to) == from + 1) return std::string(kNeighbours[from].name);
  return absl::StrCat(StageName(interval.from), " to ", StageName(interval.to));
}

Work WorkOf(Interval interval) {
  const size_t from = Index(interval.from);
  const size_t to = Index(interval.to);
  if (from >= to || to > kLast) return Work::kMixed;
  const Work first = kNeighbours[from].work;
  for (size_t stage = from + 1; stage < to; ++stage) {
    if (kNeighbours[stage].work != first) return Work::kMixed;
  }
  return first;
}

Intervals IntervalsOf(const StageTimes& times) {
  Intervals intervals;
  size_t from = FirstKnown(times);
  if (from > kLast) return intervals;
  const size_t last = LastKnown(times);
  uint64_t at = times[from];
  const uint64_t end = std::max(at, times[last]);
  // Both are this host's own times: what the other side says must move neither.
  const uint64_t delivered = At(times, Stage::kDelivered) == 0 ? end : std::max(at, At(times, Stage::kDelivered));
  for (size_t to = from + 1; to <= last; ++to) {
    if (times[to] == 0) continue;
    const uint64_t most = static_cast<Stage>(to) <= Stage::kDelivered ? delivered : std::max(end, delivered);
    const uint64_t next = std::clamp(times[to], at, most);
    intervals.push_back({{static_cast<Stage>(from), static_cast<Stage>(to)}, at, next - at});
    from = to;
    at = next;
  }
  return intervals;
}

std::optional<Lasted> PersistingOf(const StageTimes& times) {
  const size_t from = FirstKnown(times);
  const uint64_t end = At(times, Stage::kPersisted);
  if (from > kLast || end == 0) return std::nullopt;
  const uint64_t start = times[from];
  return Lasted{{static_cast<Stage>(from), Stage::kPersisted}, start, std::max(start, end) - start};
}

}  // namespace skein::trace
