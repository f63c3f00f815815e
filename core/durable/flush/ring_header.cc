#include "core/durable/flush/ring_header.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/durable/log/checksum.h"
#include "core/durable/log/head_slot.h"
#include "core/durable/storage/blank.h"

namespace skein::durable {
namespace {

constexpr uint64_t kMagic = 0x474e49524e494b53;        // "SKINRING"
constexpr uint64_t kMakingMagic = 0x57454e524e494b53;  // "SKINRNEW": it was being made when that was cut short
constexpr uint32_t kRingVersion = 1;

struct RingHeader {
  uint64_t magic = kMagic;
  uint32_t version = kRingVersion;
  uint32_t place = 0;
  uint32_t slot_bytes = 0;
  uint32_t slots = 0;
  LogId identity{};
  uint32_t checksum = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(RingHeader) == 48);

uint32_t ChecksumOf(const RingHeader& header) {
  return Checksum(0, BytesOf(header).substr(0, offsetof(RingHeader, checksum)));
}

// The magic says that it is being made before there is anything else, and that it is made when all else is safe.
absl::Status Make(Storage& storage, const RingShape& shape, HeaderPlace place, const LogId& identity) {
  absl::Status status = storage.WriteWord(0, kMakingMagic);
  if (status.ok()) status = storage.Persist(0, sizeof(kMakingMagic));
  RingHeader header;
  header.place = static_cast<uint32_t>(place);
  header.slot_bytes = shape.slot_bytes;
  header.slots = shape.slots;
  header.identity = identity;
  header.checksum = ChecksumOf(header);
  if (status.ok()) status = storage.Write(sizeof(header.magic), BytesOf(header).substr(sizeof(header.magic)));
  for (const uint64_t number : {0, 1}) {
    const HeadSlot opening = MakeHeadSlot(header.identity, {.number = number, .head = HeadOf(1)});
    if (status.ok()) status = storage.Write(SlotOffset(number), BytesOf(opening));
  }
  if (status.ok()) status = storage.Persist(0, kRingOffset);
  if (status.ok()) status = storage.WriteWord(0, kMagic);
  if (status.ok()) status = storage.Persist(0, sizeof(kMagic));
  return status;
}

absl::Status CheckHeader(const RingHeader& header, const RingShape& shape, HeaderPlace place) {
  if (header.version != kRingVersion) {
    return absl::FailedPreconditionError(absl::StrCat("a flush ring of version ", header.version, ", and this reads ",
                                                      kRingVersion,
                                                      "; let the version of Skein that wrote it finish it"));
  }
  if (header.checksum != ChecksumOf(header)) return absl::DataLossError("the flush ring's header is damaged");
  const RingShape there{.slot_bytes = header.slot_bytes, .slots = header.slots};
  if (there != shape || header.place != static_cast<uint32_t>(place)) {
    return absl::FailedPreconditionError(
        absl::StrCat("a flush ring of ", header.slots, " slots of ", header.slot_bytes, " bytes for ",
                     header.place == static_cast<uint32_t>(HeaderPlace::kLast) ? "WRITE" : "SEND",
                     ": open it as that, or name another place"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LogId> MakeOrReadRing(Storage& storage, const RingShape& shape, HeaderPlace place,
                                     const std::optional<LogId>& identity) {
  if (absl::Status good = CheckShape(shape); !good.ok()) return good;
  if (storage.size() < StorageBytes(shape)) {
    return absl::InvalidArgumentError(absl::StrCat(shape.slots, " slots of ", shape.slot_bytes,
                                                   " bytes need a storage of ", StorageBytes(shape), ", not ",
                                                   storage.size()));
  }
  const absl::StatusOr<bool> blank = IsBlank(storage, kMakingMagic, kMagic, "flush ring");
  if (!blank.ok()) return blank.status();
  if (*blank) {
    if (absl::Status made = Make(storage, shape, place, identity.value_or(RandomId())); !made.ok()) return made;
  }
  RingHeader header;
  if (absl::Status read = storage.Read(0, MutableBytesOf(header)); !read.ok()) return read;
  if (absl::Status good = CheckHeader(header, shape, place); !good.ok()) return good;
  if (identity && *identity != header.identity) {
    return absl::FailedPreconditionError("this is another flush ring than the one asked for; name the right one");
  }
  return header.identity;
}

}  // namespace skein::durable
