#include "core/trace/counters.h"

namespace skein::trace {
namespace {

constexpr bool TableIsInOrder() {
  for (size_t i = 0; i < kCounters; ++i) {
    if (kCounterTable[i].counter != static_cast<Counter>(i)) return false;
  }
  return true;
}
static_assert(TableIsInOrder(), "a counter's row is at its number");

std::atomic<size_t> threads = 0;  // relaxed: which shard is the next thread's

using Source = void (*)(CounterSnapshot& counters);
// Filled from the front, each once. Release by who adds one, acquire by who reads.
constinit std::array<std::atomic<Source>, kMostSources> sources{};

}  // namespace

namespace internal {

constinit std::array<CounterShard, kShards> shards;

CounterShard* ChooseShard() { return &shards[threads.fetch_add(1, std::memory_order_relaxed) % kShards]; }

}  // namespace internal

void AddCounterSource(Source add) {
  for (std::atomic<Source>& place : sources) {
    Source none = nullptr;
    if (place.compare_exchange_strong(none, add, std::memory_order_release, std::memory_order_relaxed)) return;
  }
}

CounterSnapshot ReadCounters() {
  CounterSnapshot snapshot;
  for (const internal::CounterShard& shard : internal::shards) {
    for (size_t slot = 0; slot < kSlots; ++slot) {
      snapshot.values[slot] += shard.values[slot].load(std::memory_order_relaxed);
    }
  }
  for (const std::atomic<Source>& source : sources) {
    if (const Source add = source.load(std::memory_order_acquire); add != nullptr) add(snapshot);
  }
  return snapshot;
}

void ClearCounters() {
  for (internal::CounterShard& shard : internal::shards) {
    for (std::atomic<uint64_t>& value : shard.values) value.store(0, std::memory_order_relaxed);
  }
}

absl::string_view LabelName(CounterLabel label) {
  if (label == CounterLabel::kPath) return "path";
  return label == CounterLabel::kReason ? "reason" : "";
}

std::string LabelValue(CounterLabel label, size_t value) {
  if (label == CounterLabel::kPath) return std::string(PathName(static_cast<Path>(value)));
  if (label == CounterLabel::kNone) return "";
  return value == kReasons - 1 ? "unknown reason" : FallbackCodeName(static_cast<FallbackCode>(value));
}

}  // namespace skein::trace
