// What the process counts while tracing is off, too: one table of counters, from which the metrics and their page come.
#ifndef SKEIN_CORE_TRACE_COUNTERS_H_
#define SKEIN_CORE_TRACE_COUNTERS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/base/fallback.h"
#include "core/trace/path.h"

namespace skein::trace {

enum class Counter : uint8_t {
  kBytesSent,  // to kMessagesReceived: by path
  kBytesReceived,
  kMessagesSent,
  kMessagesReceived,
  kCoalescedMessages,
  kCreditsGranted,
  kCreditsDeclined,
  kSpinsHit,
  kSpinsMissed,
  kWakeUps,
  kFallbacks,         // by reason
  kQueuePairsActive,  // to kReplicasFollowing: gauges
  kRegisteredBytes,
  kRedoLogBytes,
  kDurableUnfinished,
  kReplicas,
  kReplicasFollowing,
  kDurablePersisted,
  kDurableExecuted,
  kDurableReplayed,
  kRecordsDropped,
};
inline constexpr size_t kCounters = 21;

// What a counter is counted by, each value of which has a number of its own.
enum class CounterLabel : uint8_t { kNone, kPath, kReason };
enum class CounterType : uint8_t { kCounter, kGauge };

struct CounterSpec {
  Counter counter;
  absl::string_view name;  // in Prometheus' text
  CounterType type;
  CounterLabel label;
  absl::string_view help;
};

inline constexpr std::array<CounterSpec, kCounters> kCounterTable = {{
    {Counter::kBytesSent, "skein_bytes_sent_total", CounterType::kCounter, CounterLabel::kPath,
     "Bytes of messages sent, headers included."},
    {Counter::kBytesReceived, "skein_bytes_received_total", CounterType::kCounter, CounterLabel::kPath,
     "Bytes of messages received, headers included."},
    {Counter::kMessagesSent, "skein_messages_sent_total", CounterType::kCounter, CounterLabel::kPath,
     "Messages posted, each by one WRITE."},
    {Counter::kMessagesReceived, "skein_messages_received_total", CounterType::kCounter, CounterLabel::kPath,
     "Messages that arrived."},
    {Counter::kCoalescedMessages, "skein_coalesced_messages_total", CounterType::kCounter, CounterLabel::kNone,
     "Messages sent that carry the bytes of several threads."},
    {Counter::kCreditsGranted, "skein_credits_granted_total", CounterType::kCounter, CounterLabel::kNone,
     "Renewals of credits granted to peers."},
    {Counter::kCreditsDeclined, "skein_credits_declined_total", CounterType::kCounter, CounterLabel::kNone,
     "Renewals of credits declined: the queue pair becomes inactive."},
    {Counter::kSpinsHit, "skein_spins_hit_total", CounterType::kCounter, CounterLabel::kNone,
     "Waits that spun, and ended before they slept."},
    {Counter::kSpinsMissed, "skein_spins_missed_total", CounterType::kCounter, CounterLabel::kNone,
     "Waits that spun in vain, and slept."},
    {Counter::kWakeUps, "skein_wake_ups_total", CounterType::kCounter, CounterLabel::kNone,
     "Times that a sleeping thread of this process was woken by a link."},
    {Counter::kFallbacks, "skein_fallbacks_total", CounterType::kCounter, CounterLabel::kReason,
     "Connections that are not on a better path, by the reason."},
    {Counter::kQueuePairsActive, "skein_queue_pairs_active", CounterType::kGauge, CounterLabel::kNone,
     "Queue pairs of live links now; a link over shared memory has none."},
    {Counter::kRegisteredBytes, "skein_registered_bytes", CounterType::kGauge, CounterLabel::kNone,
     "Memory registered with RDMA devices, or shared with peers, now."},
    {Counter::kRedoLogBytes, "skein_redo_log_bytes", CounterType::kGauge, CounterLabel::kNone,
     "Bytes in redo logs that are not yet executed."},
    {Counter::kDurableUnfinished, "skein_durable_unfinished", CounterType::kGauge, CounterLabel::kNone,
     "Durable calls that this server has, and whose outcome is not safe yet."},
    {Counter::kReplicas, "skein_durable_replicas", CounterType::kGauge, CounterLabel::kNone,
     "Replicas that this server's durable logs name."},
    {Counter::kReplicasFollowing, "skein_durable_replicas_following", CounterType::kGauge, CounterLabel::kNone,
     "Of these, those whose log is whole and follows. Fewer than skein_durable_replicas: some are missing."},
    {Counter::kDurablePersisted, "skein_durable_persisted_total", CounterType::kCounter, CounterLabel::kNone,
     "Durable calls acknowledged as persisted, each once."},
    {Counter::kDurableExecuted, "skein_durable_executed_total", CounterType::kCounter, CounterLabel::kNone,
     "Durable calls whose outcome is safe."},
    {Counter::kDurableReplayed, "skein_durable_replayed_total", CounterType::kCounter, CounterLabel::kNone,
     "Durable calls that an earlier run of the server had left unfinished."},
    {Counter::kRecordsDropped, "skein_trace_records_dropped_total", CounterType::kCounter, CounterLabel::kNone,
     "Trace records lost because a thread's ring was full."},
}};

// Reasons are FallbackCodes; one more is for those of newer peers, which have no number here.
inline constexpr size_t kReasons = static_cast<size_t>(FallbackCode::kNoOffer) + 2;

constexpr size_t ValuesOf(CounterLabel label) {
  if (label == CounterLabel::kPath) return kPaths;
  return label == CounterLabel::kReason ? kReasons : 1;
}

// Where a counter's numbers begin among all.
constexpr size_t SlotOf(Counter counter) {
  size_t slot = 0;
  for (size_t i = 0; i < static_cast<size_t>(counter); ++i) slot += ValuesOf(kCounterTable[i].label);
  return slot;
}
inline constexpr size_t kSlots =
    SlotOf(static_cast<Counter>(kCounters - 1)) + ValuesOf(kCounterTable[kCounters - 1].label);

namespace internal {

// A thread adds to one of a few copies, so that threads seldom fight for a line. All relaxed: each number stands for
// itself.
struct alignas(64) CounterShard {
  std::array<std::atomic<uint64_t>, kSlots> values{};
};
inline constexpr size_t kShards = 8;
extern std::array<CounterShard, kShards> shards;

CounterShard* ChooseShard();
// Hidden: a library that counts reaches the one array through a pointer of its own.
[[gnu::visibility("hidden")]] inline constinit thread_local CounterShard* shard = nullptr;

inline void AddTo(size_t slot, uint64_t by) {
  if (shard == nullptr) [[unlikely]]
    shard = ChooseShard();
  shard->values[slot].fetch_add(by, std::memory_order_relaxed);
}

}  // namespace internal

// Any thread, at any time; nothing but an addition. A counter is counted by what its label says.
inline void Count(Counter counter, uint64_t by = 1) { internal::AddTo(SlotOf(counter), by); }
inline void Count(Counter counter, Path path, uint64_t by = 1) {
  internal::AddTo(SlotOf(counter) + static_cast<size_t>(path), by);
}
// Of a code from a peer, too.
inline void CountFallback(FallbackCode code) {
  internal::AddTo(SlotOf(Counter::kFallbacks) + std::min(static_cast<size_t>(code), kReasons - 1), 1);
}
// Of gauges.
inline void Change(Counter gauge, int64_t by) { internal::AddTo(SlotOf(gauge), static_cast<uint64_t>(by)); }

// What is counted elsewhere, and read out when somebody asks: `add` adds its numbers. At most kMostSources; for ever.
struct CounterSnapshot;
inline constexpr size_t kMostSources = 4;
void AddCounterSource(void (*add)(CounterSnapshot& counters));

// All numbers, of sources too; those that change meanwhile may be of different moments.
struct CounterSnapshot {
  std::array<uint64_t, kSlots> values{};

  uint64_t Value(Counter counter, size_t label = 0) const { return values[SlotOf(counter) + label]; }
};
CounterSnapshot ReadCounters();
// By a child made by fork(), while it has one thread.
void ClearCounters();

// "path", "reason" or "", and "shm", "different user".
absl::string_view LabelName(CounterLabel label);
std::string LabelValue(CounterLabel label, size_t value);

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_COUNTERS_H_
