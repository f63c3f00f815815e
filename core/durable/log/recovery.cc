#include "core/durable/log/recovery.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/durable/log/checksum.h"
#include "core/durable/log/window.h"

namespace skein::durable {
namespace {

// Walks a ring. All of its bytes are hostile until the stamp and the checksum hold.
class Scan {
 public:
  Scan(const Storage& storage, const LogId& identity)
      : identity_(identity), ring_bytes_(RingBytes(storage.size())), window_(storage) {}

  struct Found {
    EntryHeader header;
    absl::string_view payload;  // until the next call; of a pad, none
  };
  // The whole entry at `position`, if one is there. An error: the storage cannot be read.
  absl::StatusOr<std::optional<Found>> At(uint64_t position) {
    Found found;
    const uint64_t place = PlaceOf(position, ring_bytes_);
    const absl::StatusOr<absl::string_view> bytes = window_.At(place, sizeof(found.header));
    if (!bytes.ok()) return bytes.status();
    std::memcpy(&found.header, bytes->data(), sizeof(found.header));
    if (found.header.stamp != Stamp(identity_, position) || !SizeFits(position, found.header)) return std::nullopt;
    if (found.header.kind != kPad) {
      const absl::StatusOr<absl::string_view> payload = window_.At(place + sizeof(found.header), found.header.size);
      if (!payload.ok()) return payload.status();
      found.payload = *payload;
    }
    if (!ChecksumHolds(found.header, found.payload)) return std::nullopt;
    return found;
  }

  uint64_t ring_bytes() const { return ring_bytes_; }

 private:
  // Whether it ends in this lap; a pad, with it.
  bool SizeFits(uint64_t position, const EntryHeader& header) const {
    const uint64_t left = ring_bytes_ - position % ring_bytes_;
    const uint64_t bytes = EntryBytes(header);
    return header.kind == kPad ? bytes == left : bytes <= std::min(left, LargestEntry(ring_bytes_));
  }

  const LogId& identity_;
  const uint64_t ring_bytes_;
  Window window_;
};

Entry ToEntry(uint64_t position, const Scan::Found& found) {
  return {.position = position,
          .kind = found.header.kind,
          .client = found.header.client,
          .sequence = found.header.sequence,
          .tag = found.header.tag,
          .payload = found.payload};
}

// Entries that were behind `recovered.tail` when it was written: torn ones of the last moments, none of which says that
// what is missing was ever safe. If one does, the log has been damaged since. What is written next is told from them by
// its epoch, also if the slot with theirs is lost.
absl::Status LookBehindTheTail(Scan& scan, Recovered& recovered) {
  const uint64_t end = recovered.slot.head + scan.ring_bytes();
  for (uint64_t position = recovered.tail; position < end; position += kEntryUnit) {
    const absl::StatusOr<std::optional<Scan::Found>> found = scan.At(position);
    if (!found.ok()) return found.status();
    if (!*found) continue;
    recovered.epoch = std::max(recovered.epoch, EpochOf((*found)->header));
    if ((*found)->header.settled <= recovered.tail) continue;
    return absl::DataLossError(absl::StrCat("the redo log is damaged at byte ",
                                            PlaceOf(recovered.tail, scan.ring_bytes()),
                                            ": entries are missing that were safe; restore it from a copy"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Recovered> Recover(const Storage& storage, EntryVisitor visit) {
  const absl::StatusOr<LogHeader> header = ReadLogHeader(storage);
  if (!header.ok()) return header.status();
  const absl::StatusOr<HeadSlot> slot = ReadHeadSlots(storage, header->identity);
  if (!slot.ok()) return slot.status();
  Recovered recovered{.header = *header, .slot = *slot, .tail = slot->head};
  // Of the entry before: after a crash, later ones of that time are lost, even if they turn up whole. The first one was
  // safe when the slot was written, or written since.
  uint32_t epoch = 0;
  Scan scan(storage, header->identity);
  while (recovered.tail < slot->head + scan.ring_bytes()) {
    const absl::StatusOr<std::optional<Scan::Found>> found = scan.At(recovered.tail);
    if (!found.ok()) return found.status();
    if (!*found || EpochOf((*found)->header) < epoch) break;
    const uint64_t bytes = EntryBytes((*found)->header);
    if (bytes > slot->head + scan.ring_bytes() - recovered.tail) break;
    if ((*found)->header.kind != kPad) {
      if (absl::Status seen = visit(ToEntry(recovered.tail, **found)); !seen.ok()) return seen;
    }
    epoch = EpochOf((*found)->header);
    recovered.settled = std::max(recovered.settled, (*found)->header.settled);
    recovered.tail += bytes;
  }
  recovered.epoch = std::max(epoch, slot->epoch);
  if (absl::Status whole = LookBehindTheTail(scan, recovered); !whole.ok()) return whole;
  return recovered;
}

absl::StatusOr<Entry> ReadEntry(const Storage& storage, const LogId& identity, uint64_t position,
                                std::string& payload) {
  EntryHeader header;
  const uint64_t ring_bytes = RingBytes(storage.size());
  const uint64_t place = PlaceOf(position, ring_bytes);
  if (absl::Status read = storage.Read(place, MutableBytesOf(header)); !read.ok()) return read;
  const bool likely = header.stamp == Stamp(identity, position) && header.kind != kPad &&
                      EntryBytes(header) <= std::min(LargestEntry(ring_bytes), ring_bytes - position % ring_bytes);
  payload.resize(likely ? header.size : 0);
  if (absl::Status read = storage.Read(place + sizeof(header), absl::MakeSpan(payload)); !read.ok()) return read;
  if (likely && ChecksumHolds(header, payload)) return ToEntry(position, {header, payload});
  return absl::DataLossError(absl::StrCat("the redo log has no whole entry at byte ", place));
}

}  // namespace skein::durable
