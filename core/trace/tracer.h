// Tracing of this process: switched on and off at any time, by any thread. Off, it costs one load and a branch.
//
//   if (trace::Sampled()) { record.times... }     where a call or message begins
//   if (record is kept) trace::Push(record);      where it ends
//
// A child made by fork() starts with tracing off, without records, methods and counts.
#ifndef SKEIN_CORE_TRACE_TRACER_H_
#define SKEIN_CORE_TRACE_TRACER_H_

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <vector>

#include "core/trace/aggregate.h"
#include "core/trace/method_table.h"
#include "core/trace/record.h"

namespace skein::trace {

namespace internal {

// 0: off. Relaxed: who sees a change late traces one more, or one less.
extern std::atomic<uint32_t> sample_every;
bool TakeSample(uint32_t every);

}  // namespace internal

inline bool Enabled() { return __builtin_expect(internal::sample_every.load(std::memory_order_relaxed) != 0, 0) != 0; }

// Whether the call or message that begins now is traced: one of `every` on average, each thread for itself, at
// irregular distances, since calls have rhythms of their own.
inline bool Sampled() {
  const uint32_t every = internal::sample_every.load(std::memory_order_relaxed);
  if (__builtin_expect(every == 0, 1) != 0) return false;
  return internal::TakeSample(every);
}

// 0: off; 1: all; N: one of N. Switching off returns when all that was pushed before has been delivered (but from the
// callback); what is pushed later waits for tracing to be switched on again. Stays off if no thread is to be had.
void SetSampling(uint32_t every);

// How often that was called: who wants to undo it sees whether somebody else was there meanwhile.
uint64_t Switches();

// The calling thread's next record. Neither locks nor allocates, but for a thread's first. A record that finds the
// thread's ring full, or more than RingRegistry::kMostRings threads, is dropped and counted.
void Push(const Record& record);

// One of how many is traced; 0: off.
inline uint32_t SampledEvery() { return internal::sample_every.load(std::memory_order_relaxed); }

// How many were dropped.
uint64_t dropped();

// Nanoseconds of CLOCK_MONOTONIC, for StageTimes.
inline uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Called with each record on the collector's thread, until another is set (an empty one: none). See Collector. It may
// use nothing that the process destroys at its end.
void SetCallback(std::function<void(const Record&)> callback);

// Keeps the next `most` records, too, until they are taken, but no more than Recording::kMost; what was kept before is
// forgotten.
void BeginRecording(size_t most);
std::vector<Record> EndRecording();

// Returns when all that was pushed before has been delivered; at once when tracing is off, or from the callback.
void Flush();
// All that was delivered since the start, or the last ClearAggregate.
AggregateSnapshot Snapshot();
void ClearAggregate();

// Valid for ever; of the process, so not to be kept across fork().
MethodTable& Methods();

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_TRACER_H_
