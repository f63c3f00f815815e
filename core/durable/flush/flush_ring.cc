#include "core/durable/flush/flush_ring.h"

#include <algorithm>

#include "absl/memory/memory.h"

namespace skein::durable {

absl::Span<std::byte> FlushRing::MappedSlots() {
  if (storage_ == nullptr || storage_->mapped().empty()) return {};
  return storage_->mapped().subspan(SlotsOffset(shape_), SlotsBytes(shape_));
}

LogMemory FlushRing::memory(bool in_place) const {
  if (storage_ == nullptr) return {};
  return {.has_storage = true,
          .in_place = in_place,
          .fine_grained = storage_->fine_grained(),
          .on_persist = storage_->persistence()};
}

absl::Status FlushRing::Persist(uint64_t next, absl::Span<const FlushEntry> copies) {
  if (storage_ != nullptr && failure_.ok()) failure_ = Write(copies);
  if (storage_ != nullptr && failure_.ok()) {
    std::vector<Extent> extents;
    for (uint64_t sequence = next_; sequence < next; ++sequence) {
      extents.push_back({SlotOffsetOf(shape_, sequence), shape_.slot_bytes});
    }
    failure_ = storage_->Persist(extents);
  }
  if (failure_.ok()) next_ = next;
  return failure_;
}

// Made anew from what was checked: where they were copied from, the sender may have overwritten them since.
absl::Status FlushRing::Write(absl::Span<const FlushEntry> entries) {
  if (entries.empty()) return absl::OkStatus();
  std::vector<std::byte> slot(shape_.slot_bytes);
  for (const FlushEntry& entry : entries) {
    const absl::Span<const std::byte> taken =
        MakeFlushEntry(absl::MakeSpan(slot), place_, key_, entry.client, entry.sequence, entry.settled, entry.payload);
    const uint64_t at = SlotOffsetOf(shape_, entry.sequence) + (taken.data() - slot.data());
    absl::Status written = storage_->Write(at, {reinterpret_cast<const char*>(taken.data()), taken.size()});
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

absl::Status FlushRing::Finish(absl::Span<const uint64_t> sequences) {
  if (!failure_.ok() || sequences.empty()) return failure_;
  std::vector<Extent> extents;
  for (const uint64_t sequence : sequences) {
    const uint64_t slot = SlotOf(shape_, sequence);
    finished_[slot] = sequence;
    if (storage_ == nullptr) continue;
    failure_.Update(storage_->WriteWord(MarkOffset(slot), sequence));
    extents.push_back({MarkOffset(slot), sizeof(sequence)});
  }
  if (storage_ != nullptr && failure_.ok()) failure_ = storage_->Persist(extents);
  if (failure_.ok()) {
    while (IsFinished(head_)) ++head_;
  }
  return failure_;
}

}  // namespace skein::durable
