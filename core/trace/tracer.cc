#include "core/trace/tracer.h"

#include <pthread.h>

#include <memory>
#include <utility>

#include "core/base/mutex.h"
#include "core/trace/collector.h"
#include "core/trace/counters.h"
#include "core/trace/probes.h"
#include "core/trace/ring_registry.h"

namespace skein::trace {
namespace {

// Never destroyed: threads may push, and the collector collect, while the process ends.
struct Tracer {
  MethodTable methods;
  RingRegistry rings;
  Aggregate aggregate;
  Recording recording;
  std::atomic<uint64_t> switches = 0;  // relaxed: changed under `switching`, read by who has just changed it
  Mutex switching;                     // so that sampling and the collector change together
  Collector collector{rings, aggregate, recording};
};

// Made by the first who needs it, by compare-and-swap: a lock might be held by another thread when this one forks.
// Released with its contents by Get, acquired by Get.
constinit std::atomic<Tracer*> current = nullptr;
// A forked child's parent's, whose locks may be held for ever. Relaxed: only so that it is not taken for a leak.
constinit std::atomic<Tracer*> left_alone = nullptr;
// Relaxed: the one that sees false first registers.
constinit std::atomic<bool> forks_noticed = false;

// How many this thread lets pass before the next it traces, and that one.
constinit thread_local uint32_t sample_in = 0;

constinit thread_local RecordRing* ring = nullptr;
constinit thread_local bool ended = false;  // a thread's own destructors may still push

// Gives this thread's ring back when it ends.
struct RingOwner {
  RingRegistry* from = nullptr;
  ~RingOwner() {
    ended = true;
    if (ring != nullptr) from->Release(std::exchange(ring, nullptr));
  }
};
thread_local RingOwner ring_owner;

// In the child, where this is the only thread.
void StartEmpty() {
  internal::sample_every.store(0, std::memory_order_relaxed);
  left_alone.store(current.exchange(nullptr, std::memory_order_relaxed), std::memory_order_relaxed);
  ring = nullptr;
  ClearCounters();
}

Tracer& Get() {
  Tracer* made = current.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  if (!forks_noticed.exchange(true, std::memory_order_relaxed)) pthread_atfork(nullptr, nullptr, StartEmpty);
  auto mine = std::make_unique<Tracer>();
  if (!current.compare_exchange_strong(made, mine.get(), std::memory_order_acq_rel)) return *made;
  return *mine.release();
}

RecordRing* ClaimRing() {
  if (ended) return nullptr;
  Tracer& tracer = Get();
  ring = tracer.rings.Claim();
  ring_owner.from = &tracer.rings;
  return ring;
}

// From 1 to 2 * every - 1, every on average; a linear congruential generator's upper half.
uint32_t NextDistance(uint32_t every) {
  static constinit thread_local uint64_t state = 0;
  if (state == 0) state = reinterpret_cast<uintptr_t>(&state);  // of this thread, or all would go in step
  state = state * 6364136223846793005 + 1442695040888963407;
  return static_cast<uint32_t>(1 + (state >> 33) % (2 * uint64_t{every} - 1));
}

}  // namespace

namespace internal {

constinit std::atomic<uint32_t> sample_every{0};

bool TakeSample(uint32_t every) {
  if (every == 1) return true;
  // At the thread's first, and when there is less to wait for than when it was drawn.
  if (sample_in == 0 || sample_in >= 2 * uint64_t{every}) sample_in = NextDistance(every);
  return --sample_in == 0;
}

}  // namespace internal

void SetSampling(uint32_t every) {
  Tracer& tracer = Get();
  {
    MutexLock lock(&tracer.switching);
    tracer.switches.fetch_add(1, std::memory_order_relaxed);
    if (every != 0 && !tracer.collector.Start()) every = 0;
    internal::sample_every.store(every, std::memory_order_relaxed);
    if (every != 0) return;
    tracer.collector.Stop();
  }
  tracer.collector.WaitUntilStopped();  // without the lock: its callback may switch, too
}

uint64_t Switches() { return Get().switches.load(std::memory_order_relaxed); }

void Push(const Record& record) {
  // A std::string's: it ends with a 0.
  probes::Recorded(record, Methods().Name(record.method).data());
  RecordRing* mine = ring;
  if (mine == nullptr) [[unlikely]]
    mine = ClaimRing();
  if (mine == nullptr || !mine->Push(record)) [[unlikely]]
    Count(Counter::kRecordsDropped);
}

uint64_t dropped() { return ReadCounters().Value(Counter::kRecordsDropped); }

void SetCallback(std::function<void(const Record&)> callback) { Get().collector.SetCallback(std::move(callback)); }

void BeginRecording(size_t most) { Get().recording.Begin(most); }
std::vector<Record> EndRecording() { return Get().recording.End(); }

void Flush() { Get().collector.Flush(); }

AggregateSnapshot Snapshot() { return Get().aggregate.Snapshot(); }

void ClearAggregate() { Get().aggregate.Clear(); }

MethodTable& Methods() { return Get().methods; }

}  // namespace skein::trace
