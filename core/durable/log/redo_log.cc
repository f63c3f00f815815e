#include "core/durable/log/redo_log.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/log/checksum.h"

namespace skein::durable {

RedoLog::RedoLog(std::unique_ptr<Storage> storage, const LogId& identity, LogSpace space)
    : storage_(std::move(storage)), identity_(identity), ring_bytes_(space.ring_bytes()), space_(std::move(space)) {}

RedoLog::~RedoLog() {
  std::vector<Persisted> waiting;
  {
    const MutexLock lock(&mu_);
    waiting.swap(waiting_);
  }
  for (Persisted& done : waiting) {
    if (done) done(absl::CancelledError("the redo log was closed before this was persisted"));
  }
}

absl::StatusOr<uint64_t> RedoLog::Append(const Entry& entry, uint64_t keep_free, Persisted done) {
  const MutexLock lock(&mu_);
  if (!failure_.ok()) return failure_;
  const uint64_t bytes = EntryBytes(entry.payload.size());
  if (entry.payload.size() > largest_payload()) {
    return absl::InvalidArgumentError(absl::StrCat(entry.payload.size(), " bytes for a redo log that takes ",
                                                   largest_payload(), " at a time; make the log larger"));
  }
  const uint64_t pad_position = space_.tail();
  const std::optional<LogSpace::Place> place = space_.Take(bytes, keep_free);
  if (!place) {
    // What is released may still be read by recovery until the head is persisted anew: Flush does that, if it helps.
    room_wanted_ = room_wanted_ || space_.WouldFit(bytes, keep_free);
    return absl::ResourceExhaustedError("the redo log is full; finish requests, send fewer, or make it larger");
  }
  if (place->pad_bytes > 0) {
    const EntryHeader pad = MakePad(identity_, persisted_, epoch_, pad_position, place->pad_bytes);
    if (absl::Status put = Put(pad, pad_position, {}); !put.ok()) return put;
  }
  Entry placed = entry;
  placed.position = place->position;
  const EntryHeader header = MakeEntryHeader(identity_, persisted_, epoch_, placed);
  if (absl::Status put = Put(header, placed.position, entry.payload); !put.ok()) return put;
  waiting_.push_back(std::move(done));
  return placed.position;
}

absl::Status RedoLog::Put(const EntryHeader& header, uint64_t position, absl::string_view payload) {
  const uint64_t place = PlaceOf(position, ring_bytes_);
  absl::string_view pieces[] = {BytesOf(header), payload};
  absl::Status put;
  if (storage_->fine_grained()) {
    // The leader writes the word when the rest is safe.
    pieces[0].remove_prefix(sizeof(header.operator_word));
    put = storage_->Write(place + sizeof(header.operator_word), pieces);
    words_.push_back({place, header.operator_word});
  } else {
    // One trip to the disk for both: the word holds the checksum of what must be there with it.
    put = storage_->Write(place, pieces);
  }
  if (!put.ok()) Fail(put);
  return failure_;
}

void RedoLog::Fail(const absl::Status& cause) {
  if (!failure_.ok()) return;
  // Not the storage's: another log has taken this one's place.
  if (absl::IsFailedPrecondition(cause)) {
    failure_ = cause;
    return;
  }
  failure_ = absl::UnavailableError(
      absl::StrCat("the redo log takes no more: ", cause.message(), "; restart when its storage is sound again"));
}

void RedoLog::GiveUp(const absl::Status& cause) {
  const MutexLock lock(&mu_);
  Fail(cause);
}

void RedoLog::Release(uint64_t position) {
  const MutexLock lock(&mu_);
  space_.Release(position);
}

absl::StatusOr<Entry> RedoLog::Read(uint64_t position, std::string& payload) const {
  return ReadEntry(*storage_, identity_, position, payload);
}

RedoLog::Usage RedoLog::usage() const {
  const MutexLock lock(&mu_);
  return {.capacity = ring_bytes_, .used = space_.used(), .head = space_.head()};
}

absl::Status RedoLog::health() const {
  const MutexLock lock(&mu_);
  return failure_;
}

uint64_t RedoLog::largest_payload() const { return LargestEntry(ring_bytes_) - sizeof(EntryHeader); }

}  // namespace skein::durable
