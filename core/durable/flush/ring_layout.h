// Where things lie in a flush ring's storage: FORMAT.md, "The flush ring", in numbers.
#ifndef SKEIN_CORE_DURABLE_FLUSH_RING_LAYOUT_H_
#define SKEIN_CORE_DURABLE_FLUSH_RING_LAYOUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/durable/log/layout.h"

namespace skein::durable {

// One connection's ring: so many slots of so many bytes, an entry in each. Entry n lies in slot n mod slots.
struct RingShape {
  uint32_t slot_bytes = 4096;  // of which kFlushHeaderBytes are the header; a multiple of 64
  uint32_t slots = 64;
  friend bool operator==(const RingShape&, const RingShape&) = default;
};

inline constexpr uint32_t kFlushHeaderBytes = 64;
inline constexpr uint32_t kMostSlotBytes = uint32_t{1} << 30;
inline constexpr uint32_t kMostSlots = uint32_t{1} << 14;

constexpr uint64_t SlotOf(const RingShape& shape, uint64_t sequence) { return sequence % shape.slots; }
constexpr uint64_t SlotsBytes(const RingShape& shape) { return uint64_t{shape.slot_bytes} * shape.slots; }
constexpr uint32_t LargestPayload(const RingShape& shape) { return shape.slot_bytes - kFlushHeaderBytes; }

// Openings are recorded as a log's head slots, whose heads are multiples of a unit.
constexpr uint64_t HeadOf(uint64_t sequence) { return sequence * kEntryUnit; }

// Header and two openings have a page each, as a log's header and its slots; then a word for each slot, then the slots.
constexpr uint64_t MarkOffset(uint64_t slot) { return kRingOffset + slot * sizeof(uint64_t); }
constexpr uint64_t SlotsOffset(const RingShape& shape) {
  return (MarkOffset(shape.slots) + kLogPage - 1) / kLogPage * kLogPage;
}
constexpr uint64_t SlotOffsetOf(const RingShape& shape, uint64_t sequence) {
  return SlotsOffset(shape) + SlotOf(shape, sequence) * shape.slot_bytes;
}
// What a storage must have.
constexpr uint64_t StorageBytes(const RingShape& shape) { return SlotsOffset(shape) + SlotsBytes(shape); }

inline absl::Status CheckShape(const RingShape& shape) {
  const bool good = shape.slots >= 2 && shape.slots <= kMostSlots && shape.slot_bytes % kEntryUnit == 0 &&
                    shape.slot_bytes > kFlushHeaderBytes && shape.slot_bytes <= kMostSlotBytes;
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(shape.slots, " slots of ", shape.slot_bytes, " bytes: there are 2 to ",
                                                 kMostSlots, ", of a multiple of 64 from 128 to ", kMostSlotBytes));
}

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_RING_LAYOUT_H_
