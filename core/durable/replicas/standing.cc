#include "core/durable/replicas/standing.h"

#include <array>
#include <cstddef>
#include <optional>

#include "core/durable/log/checksum.h"

namespace skein::durable {
namespace {

constexpr uint64_t kSector = kStandingBytes / 2;  // each of the two has one to itself

struct Slot {
  uint64_t number = 0;  // counts those that were written; lies in the slot of its parity
  uint64_t promised = 0;
  std::array<uint8_t, 16> promised_id{};
  uint64_t content = 0;
  std::array<uint8_t, 16> content_id{};
  uint32_t logs = 0;
  uint32_t acknowledge = 0;
  uint32_t checksum = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(Slot) == 72);

uint32_t ChecksumOf(const Slot& slot) { return Checksum(0, BytesOf(slot).substr(0, offsetof(Slot, checksum))); }

uint64_t OffsetOf(uint64_t number) { return kStandingOffset + number % 2 * kSector; }

// The newest that is whole; number 0: none was ever written.
absl::StatusOr<Slot> ReadSlots(const Storage& storage) {
  Slot newest;
  int damaged = 0;
  for (const uint64_t parity : {0, 1}) {
    Slot slot;
    if (absl::Status read = storage.Read(OffsetOf(parity), MutableBytesOf(slot)); !read.ok()) return read;
    if (BytesOf(slot) == BytesOf(Slot())) continue;
    const bool whole = slot.checksum == ChecksumOf(slot) && slot.number % 2 == parity && slot.number > 0;
    damaged += whole ? 0 : 1;
    if (whole && slot.number > newest.number) newest = slot;
  }
  // The writing of one may have been cut short.
  if (damaged == 2) return absl::DataLossError("the log is damaged: both records of the term; restore it from a copy");
  return newest;
}

}  // namespace

absl::StatusOr<Standing> ReadStanding(const Storage& storage) {
  const absl::StatusOr<Slot> slot = ReadSlots(storage);
  if (!slot.ok()) return slot.status();
  return Standing{.promised = {slot->promised, slot->promised_id},
                  .content = {slot->content, slot->content_id},
                  .logs = slot->logs,
                  .acknowledge = slot->acknowledge};
}

absl::Status WriteStanding(Storage& storage, const Standing& standing) {
  const absl::StatusOr<Slot> former = ReadSlots(storage);
  if (!former.ok()) return former.status();
  Slot slot{.number = former->number + 1,
            .promised = standing.promised.number,
            .promised_id = standing.promised.id,
            .content = standing.content.number,
            .content_id = standing.content.id,
            .logs = standing.logs,
            .acknowledge = standing.acknowledge};
  slot.checksum = ChecksumOf(slot);
  const absl::Status written = storage.Write(OffsetOf(slot.number), BytesOf(slot));
  return written.ok() ? storage.Persist(OffsetOf(slot.number), sizeof(slot)) : written;
}

}  // namespace skein::durable
