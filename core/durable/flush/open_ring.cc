// FlushRing's beginning: an empty ring is made, or what the one that is there still owes is found and made safe.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/flush/flush_ring.h"
#include "core/durable/flush/ring_header.h"
#include "core/durable/log/checksum.h"
#include "core/durable/log/head_slot.h"

namespace skein::durable {

absl::StatusOr<std::unique_ptr<FlushRing>> FlushRing::Open(std::shared_ptr<Storage> storage, const RingShape& shape,
                                                           HeaderPlace place, std::vector<FlushEntry>& unfinished,
                                                           const std::optional<LogId>& identity) {
  if (absl::Status good = CheckShape(shape); !good.ok()) return good;
  auto ring = absl::WrapUnique(new FlushRing(std::move(storage), shape, place));
  if (ring->storage_ == nullptr) {
    ring->key_ = {.identity = identity.value_or(RandomId()), .epoch = 1};
    return ring;
  }
  if (absl::Status recovered = ring->Recover(identity, unfinished); !recovered.ok()) return recovered;
  return ring;
}

absl::Status FlushRing::Recover(const std::optional<LogId>& wanted, std::vector<FlushEntry>& unfinished) {
  const absl::StatusOr<LogId> identity = MakeOrReadRing(*storage_, shape_, place_, wanted);
  if (!identity.ok()) return identity.status();
  key_.identity = *identity;
  const absl::StatusOr<HeadSlot> slot = ReadHeadSlots(*storage_, *identity);
  if (!slot.ok()) return slot.status();
  const Opening last{.number = slot->number, .first = slot->head / kEntryUnit, .epoch = slot->epoch};
  absl::Status status = ReadMarks();
  if (status.ok()) status = ReadEntries(last, unfinished);
  if (status.ok()) status = CheckNothingIsMissing(last);
  if (status.ok()) status = MakeSafe(unfinished);
  if (status.ok()) status = Begin(last);
  return status;
}

absl::Status FlushRing::ReadMarks() {
  std::string bytes(finished_.size() * sizeof(uint64_t), '\0');
  if (absl::Status read = storage_->Read(MarkOffset(0), absl::MakeSpan(bytes)); !read.ok()) return read;
  std::memcpy(finished_.data(), bytes.data(), bytes.size());
  head_ = FirstOpen();
  for (uint64_t slot = 0; slot < shape_.slots; ++slot) {
    const uint64_t mark = finished_[slot];
    // An entry is overwritten when all up to it are finished, so marks are never further apart than a lap.
    const bool possible = mark == 0 || (mark <= kLastSequence && SlotOf(shape_, mark) == slot &&
                                        mark - head_ + shape_.slots < 2 * uint64_t{shape_.slots});
    if (!possible) {
      return absl::DataLossError(
          absl::StrCat("the flush ring's marks are damaged at slot ", slot, "; restore it from a copy"));
    }
  }
  return absl::OkStatus();
}

uint64_t FlushRing::FirstOpen() const {
  uint64_t first = ~uint64_t{0};
  for (uint64_t slot = 0; slot < shape_.slots; ++slot) {
    const uint64_t mark = finished_[slot];
    const uint64_t first_of_slot = slot == 0 ? shape_.slots : slot;
    first = std::min(first, mark == 0 ? first_of_slot : mark + shape_.slots);
  }
  return first;
}

// Up to the first that is neither finished nor whole: what is behind it was never acknowledged.
absl::Status FlushRing::ReadEntries(const Opening& last, std::vector<FlushEntry>& unfinished) {
  for (next_ = head_; next_ < head_ + shape_.slots; ++next_) {
    if (IsFinished(next_)) continue;
    absl::StatusOr<std::optional<FlushEntry>> entry = ReadEntry(next_, last);
    if (!entry.ok()) return entry.status();
    if (!entry->has_value()) break;
    unfinished.push_back(**std::move(entry));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<FlushEntry>> FlushRing::ReadEntry(uint64_t sequence, const Opening& last) const {
  std::string slot(shape_.slot_bytes, '\0');
  if (absl::Status read = storage_->Read(SlotOffsetOf(shape_, sequence), absl::MakeSpan(slot)); !read.ok()) return read;
  const RingKey any_epoch{.identity = key_.identity};
  std::optional<FlushEntry> entry =
      TakeFlushEntry({reinterpret_cast<const std::byte*>(slot.data()), slot.size()}, place_, any_epoch, sequence);
  if (entry && entry->epoch > last.epoch) {
    return absl::DataLossError(absl::StrCat("the flush ring is damaged: entry ", sequence, " is of opening ",
                                            entry->epoch, ", and the last one is ", last.epoch,
                                            "; restore it from a copy"));
  }
  // Before the last opening's first, entries were found whole by that opening. From there on, one of an earlier epoch
  // is what a crash had left behind a torn one: it was never acknowledged, its sender was told so, and it stays lost.
  const bool expected = entry && (sequence < last.first ? entry->epoch < last.epoch : entry->epoch == last.epoch);
  return expected ? std::move(entry) : std::nullopt;
}

absl::Status FlushRing::CheckNothingIsMissing(const Opening& last) const {
  for (uint64_t sequence = next_; sequence < head_ + shape_.slots; ++sequence) {
    const absl::StatusOr<std::optional<FlushEntry>> entry = ReadEntry(sequence, last);
    if (!entry.ok()) return entry.status();
    if (entry->has_value() && (*entry)->settled >= next_ && (*entry)->settled < sequence) {
      return absl::DataLossError(absl::StrCat("the flush ring is damaged: entry ", next_,
                                              " is missing, which was safe; restore it from a copy"));
    }
  }
  return absl::OkStatus();
}

// A process that died may have left entries in memory only, and a kernel that failed to write pages may call them
// clean: what is shown is written over itself, and persisted. So are the marks, by which others are not shown.
absl::Status FlushRing::MakeSafe(absl::Span<const FlushEntry> unfinished) {
  std::vector<Extent> extents = {{0, SlotsOffset(shape_)}};
  for (const FlushEntry& entry : unfinished) {
    extents.push_back({SlotOffsetOf(shape_, entry.sequence), shape_.slot_bytes});
  }
  std::string bytes;
  for (const Extent& extent : extents) {
    bytes.resize(extent.length);
    absl::Status status = storage_->Read(extent.offset, absl::MakeSpan(bytes));
    if (status.ok()) status = storage_->Write(extent.offset, bytes);
    if (!status.ok()) return status;
  }
  return storage_->Persist(extents);
}

absl::Status FlushRing::Begin(const Opening& last) {
  if (last.epoch >= ~uint32_t{0} - 1) return absl::DataLossError("the flush ring has been opened too often");
  key_.epoch = last.epoch + 1;
  const HeadSlot opening =
      MakeHeadSlot(key_.identity, {.number = last.number + 1, .head = HeadOf(next_), .epoch = key_.epoch});
  absl::Status status = storage_->Write(SlotOffset(opening.number), BytesOf(opening));
  if (status.ok()) status = storage_->Persist(SlotOffset(opening.number), sizeof(opening));
  return status;
}

}  // namespace skein::durable
