#include "core/durable/log/head_slot.h"

#include <cstddef>

#include "core/durable/log/checksum.h"
#include "core/durable/log/layout.h"

namespace skein::durable {
namespace {

// Of positions and numbers: far from where arithmetic could overflow. Nobody writes that much.
constexpr uint64_t kMost = uint64_t{1} << 62;

uint32_t ChecksumOf(const LogId& identity, const HeadSlot& slot) {
  return Checksum(Checksum(0, BytesOf(identity)), BytesOf(slot).substr(0, offsetof(HeadSlot, checksum)));
}

bool IsWhole(const LogId& identity, const HeadSlot& slot, uint64_t parity) {
  return slot.checksum == ChecksumOf(identity, slot) && slot.number % 2 == parity && slot.head <= kMost &&
         slot.head % kEntryUnit == 0 && slot.number <= kMost && slot.epoch < ~uint32_t{0};
}

}  // namespace

HeadSlot MakeHeadSlot(const LogId& identity, HeadSlot slot) {
  slot.checksum = ChecksumOf(identity, slot);
  return slot;
}

absl::StatusOr<HeadSlot> ReadHeadSlots(const Storage& storage, const LogId& identity) {
  std::optional<HeadSlot> newest;
  for (const uint64_t parity : {0, 1}) {
    HeadSlot slot;
    if (absl::Status read = storage.Read(SlotOffset(parity), MutableBytesOf(slot)); !read.ok()) return read;
    if (IsWhole(identity, slot, parity) && (!newest || slot.number > newest->number)) newest = slot;
  }
  if (newest) return *newest;
  return absl::DataLossError("the redo log is damaged: both records of where it begins; restore it from a copy");
}

}  // namespace skein::durable
