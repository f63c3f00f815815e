// Records on their way from the one thread that makes them to the one that collects them. Nothing of it locks, waits or
// allocates; what finds it full is not taken.
#ifndef SKEIN_CORE_TRACE_RECORD_RING_H_
#define SKEIN_CORE_TRACE_RECORD_RING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/trace/record.h"

namespace skein::trace {

class RecordRing {
 public:
  static constexpr size_t kCapacity = 1024;

  // By the ring's thread. False: it is full, and the record is lost.
  bool Push(const Record& record) {
    const uint64_t pushed = pushed_.load(std::memory_order_relaxed);  // its own
    if (pushed - freed_ == kCapacity) {
      freed_ = drained_.load(std::memory_order_acquire);  // pairs with Drain's release: the space has been read
      if (pushed - freed_ == kCapacity) return false;
    }
    std::memcpy(SlotOf(pushed), &record, sizeof(record));
    pushed_.store(pushed + 1, std::memory_order_release);
    return true;
  }

  // By one collector at a time: take(record) for each that is there now, in their order. How many that were.
  template <typename Take>
  size_t Drain(Take take) {
    const uint64_t begin = drained_.load(std::memory_order_relaxed);  // its own
    const uint64_t end = pushed_.load(std::memory_order_acquire);     // pairs with Push's release: they are written
    for (uint64_t next = begin; next != end; ++next) {
      Record record;
      std::memcpy(&record, SlotOf(next), sizeof(record));
      drained_.store(next + 1, std::memory_order_release);
      take(record);
    }
    return end - begin;
  }

 private:
  static constexpr size_t kLine = 64;

  std::byte* SlotOf(uint64_t number) { return &slots_[number % kCapacity * sizeof(Record)]; }

  // Counts, never reset. The producer's and the collector's do not share a line.
  alignas(kLine) std::atomic<uint64_t> pushed_ = 0;
  uint64_t freed_ = 0;  // what the producer last saw of drained_
  alignas(kLine) std::atomic<uint64_t> drained_ = 0;
  // Not cleared: memory is touched as it is used.
  alignas(kLine) std::array<std::byte, kCapacity * sizeof(Record)> slots_;
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_RECORD_RING_H_
