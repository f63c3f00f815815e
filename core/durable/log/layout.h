// Where things lie in a log's storage: FORMAT.md in numbers.
#ifndef SKEIN_CORE_DURABLE_LOG_LAYOUT_H_
#define SKEIN_CORE_DURABLE_LOG_LAYOUT_H_

#include <algorithm>
#include <cstdint>

namespace skein::durable {

inline constexpr uint32_t kLogVersion = 1;
// The header and each slot have a page to themselves: no disk tears one by writing another.
inline constexpr uint64_t kLogPage = 4096;
inline constexpr uint64_t kRingOffset = 3 * kLogPage;
// Alignment and granularity of entries: a cache line, so that flushing one touches no other.
inline constexpr uint64_t kEntryUnit = 64;
inline constexpr uint64_t kSmallestLog = kRingOffset + 4096;
inline constexpr uint64_t kLargestLog = uint64_t{1} << 40;

constexpr uint64_t SlotOffset(uint64_t number) { return kLogPage * (1 + number % 2); }
constexpr uint64_t RingBytes(uint64_t storage_bytes) { return (storage_bytes - kRingOffset) / kEntryUnit * kEntryUnit; }
// Of a client's requests, in a log or a flush ring: far from where the next one could be 0. Nobody sends that many.
inline constexpr uint64_t kLastSequence = uint64_t{1} << 56;
// The largest entry: so that one always fits beside another that is wanted no more, whatever it must leave out at the
// ring's end.
constexpr uint64_t LargestEntry(uint64_t ring_bytes) {
  return std::min(ring_bytes / 4 / kEntryUnit * kEntryUnit, uint64_t{1} << 30);
}

// A position counts the bytes of all laps; the place is where it lies in the storage.
constexpr uint64_t PlaceOf(uint64_t position, uint64_t ring_bytes) { return kRingOffset + position % ring_bytes; }

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_LAYOUT_H_
