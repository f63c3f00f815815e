// RedoLog's leader: one thread persists what all have appended.
#include <algorithm>
#include <utility>

#include "core/durable/log/checksum.h"
#include "core/durable/log/redo_log.h"

namespace skein::durable {
namespace {

// The head is persisted along with entries when a 16th of the ring could be written over, and without any when it is a
// quarter, or somebody has found no place.
constexpr uint64_t kHeadsEachLap = 16;
constexpr uint64_t kTooMuchNeedless = 4;

}  // namespace

absl::Status RedoLog::Persist() {
  const MutexLock lock(&mu_);
  Lockable lockable{mu_};
  const uint64_t target = space_.tail();
  ++persisting_;
  while (told_ < target && (leading_ || HasWork())) {
    if (leading_) {
      changed_.wait(lockable);
    } else {
      Lead();
    }
  }
  --persisting_;
  absl::Status result = persisted_ >= target ? absl::OkStatus() : failure_;
  LeadForOthers();
  return result;
}

void RedoLog::Flush() {
  const MutexLock lock(&mu_);
  if (leading_) {
    flush_again_ = true;
    return;
  }
  if (HasWork()) Lead();
  LeadForOthers();
}

// For who came to Flush while there was a leader, and left it to that one. Who still waits in Persist sees to it later.
void RedoLog::LeadForOthers() {
  while (persisting_ == 0 && !leading_ && HasWork() && (flush_again_ || NeedsSlot())) Lead();
}

bool RedoLog::HasWork() const {
  if (!failure_.ok()) return !waiting_.empty();
  return persisted_ < space_.tail() || NeedsSlot();
}

// Where recovery may begin. With an entry that is safe, wanted or not: by its epoch those behind it are told that were
// lost, and lie there whole.
uint64_t RedoLog::SafeHead() const { return std::min(space_.head(), last_persisted_); }

bool RedoLog::NeedsSlot() const {
  const uint64_t needless = SafeHead() - space_.limit();
  return failure_.ok() && (needless >= ring_bytes_ / kTooMuchNeedless || (needless > 0 && room_wanted_));
}

// Releases mu_ while it works.
void RedoLog::Lead() {
  leading_ = true;
  flush_again_ = false;
  Batch batch = TakeBatch();
  absl::Status status = failure_;
  mu_.Unlock();
  if (status.ok()) status = Commit(batch);
  mu_.Lock();
  EndBatch(batch, status);
  status = status.ok() ? status : failure_;
  mu_.Unlock();
  for (Persisted& done : batch.done) {
    if (done) done(status);
  }
  mu_.Lock();
  if (status.ok()) told_ = batch.end;
  leading_ = false;
  changed_.notify_all();
}

RedoLog::Batch RedoLog::TakeBatch() {
  Batch batch;
  batch.begin = persisted_;
  batch.end = space_.tail();
  batch.last = space_.last();
  batch.words.swap(words_);
  batch.done.swap(waiting_);
  const uint64_t head = SafeHead();
  if (NeedsSlot() || head - space_.limit() >= ring_bytes_ / kHeadsEachLap) {
    batch.slot = MakeHeadSlot(identity_, {.number = slot_.number + 1, .head = head, .epoch = epoch_});
  }
  return batch;
}

void RedoLog::EndBatch(const Batch& batch, const absl::Status& status) {
  if (!status.ok()) {
    Fail(status);
    return;
  }
  persisted_ = batch.end;
  last_persisted_ = batch.last;
  if (!batch.slot) return;
  // Should the new slot rot away, the one before it is what recovery begins from: it keeps its space until the next.
  space_.SetLimit(slot_.head);
  slot_ = *batch.slot;
  if (space_.limit() == slot_.head) room_wanted_ = false;
}

absl::Status RedoLog::Commit(const Batch& batch) {
  std::vector<Extent> extents = ExtentsOf(batch.begin, batch.end);
  if (batch.slot) {
    const uint64_t place = SlotOffset(batch.slot->number);
    if (absl::Status written = storage_->Write(place, BytesOf(*batch.slot)); !written.ok()) return written;
    extents.push_back({place, sizeof(HeadSlot)});
  }
  if (absl::Status persisted = storage_->Persist(extents); !persisted.ok()) return persisted;
  if (batch.words.empty()) return absl::OkStatus();
  extents.clear();
  for (const Word& word : batch.words) {
    if (absl::Status written = storage_->WriteWord(word.place, word.value); !written.ok()) return written;
    extents.push_back({word.place, sizeof(word.value)});
  }
  return storage_->Persist(extents);
}

std::vector<Extent> RedoLog::ExtentsOf(uint64_t begin, uint64_t end) const {
  std::vector<Extent> extents;
  while (begin < end) {
    const uint64_t length = std::min(end - begin, ring_bytes_ - begin % ring_bytes_);
    extents.push_back({PlaceOf(begin, ring_bytes_), length});
    begin += length;
  }
  return extents;
}

}  // namespace skein::durable
