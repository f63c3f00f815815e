// The receiver's side of a connection's log: slots that survive a crash, and which of their entries are finished.
#ifndef SKEIN_CORE_DURABLE_FLUSH_FLUSH_RING_H_
#define SKEIN_CORE_DURABLE_FLUSH_FLUSH_RING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/durable/flush/flush_entry.h"
#include "core/durable/flush/level.h"
#include "core/durable/flush/ring_layout.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// One thread at a time. Entries have sequences 1, 2, ...; those before head() are finished. Once a Storage has failed,
// everything fails with that: what it holds, only the next opening finds out.
class FlushRing {
 public:
  // Makes or recovers the ring. `unfinished` gets what was acknowledged and not finished, in order, and perhaps what
  // was about to be acknowledged; it is safe when this returns. Without a storage, an empty ring that keeps nothing.
  // Errors: MakeOrReadRing's; DATA_LOSS if entries are missing that the sender knew to be acknowledged.
  static absl::StatusOr<std::unique_ptr<FlushRing>> Open(std::shared_ptr<Storage> storage, const RingShape& shape,
                                                         HeaderPlace place, std::vector<FlushEntry>& unfinished,
                                                         const std::optional<LogId>& identity = std::nullopt);

  // The slots as memory, for a device to write into; empty where the storage has none.
  absl::Span<std::byte> MappedSlots();
  LogMemory memory(bool in_place) const;
  const RingKey& key() const { return key_; }
  const RingShape& shape() const { return shape_; }

  uint64_t head() const { return head_; }  // the first that is not finished
  // The first that has not come. Below head() when one that was lost has come again and is finished, and those after it
  // were finished in an earlier life: the sender sends these again, too, and is to hear of each.
  uint64_t next() const { return next_; }
  // Whether it was finished, in this life or an earlier one. For sequences from head() or next() to slots further.
  bool IsFinished(uint64_t sequence) const { return finished_[SlotOf(shape_, sequence)] == sequence; }

  // Entries up to `next` - 1 have come, and are persisted. `copies` are written to their slots before; those that the
  // device has put there, or that were finished in an earlier life, need none.
  absl::Status Persist(uint64_t next, absl::Span<const FlushEntry> copies);
  // The same for who needs them not persisted.
  void Take(uint64_t next) { next_ = next; }

  // They have come, and are finished now: persisted as such when this returns OK. Moves head().
  absl::Status Finish(absl::Span<const uint64_t> sequences);

 private:
  FlushRing(std::shared_ptr<Storage> storage, const RingShape& shape, HeaderPlace place)
      : storage_(std::move(storage)), shape_(shape), place_(place), finished_(shape.slots, 0) {}

  struct Opening {
    uint64_t number = 0;
    uint64_t first = 1;  // sequence
    uint32_t epoch = 0;
  };
  absl::Status Recover(const std::optional<LogId>& wanted, std::vector<FlushEntry>& unfinished);
  absl::Status ReadMarks();
  absl::Status ReadEntries(const Opening& last, std::vector<FlushEntry>& unfinished);
  absl::StatusOr<std::optional<FlushEntry>> ReadEntry(uint64_t sequence, const Opening& last) const;
  absl::Status CheckNothingIsMissing(const Opening& last) const;
  absl::Status MakeSafe(absl::Span<const FlushEntry> unfinished);
  absl::Status Begin(const Opening& last);
  absl::Status Write(absl::Span<const FlushEntry> entries);
  uint64_t FirstOpen() const;

  const std::shared_ptr<Storage> storage_;
  const RingShape shape_;
  const HeaderPlace place_;
  RingKey key_;
  std::vector<uint64_t> finished_;  // by slot, the last finished sequence; 0: none yet
  uint64_t head_ = 1;
  uint64_t next_ = 1;
  absl::Status failure_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_FLUSH_RING_H_
