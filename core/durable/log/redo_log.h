// A ring of entries that survive a crash, in one storage. FORMAT.md draws it.
#ifndef SKEIN_CORE_DURABLE_LOG_REDO_LOG_H_
#define SKEIN_CORE_DURABLE_LOG_REDO_LOG_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/durable/log/entry.h"
#include "core/durable/log/head_slot.h"
#include "core/durable/log/log_space.h"
#include "core/durable/log/recovery.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

struct RedoLogOptions {
  std::optional<LogId> identity;  // a log with another one is not opened
};

// Any thread. Entries get into the log at once, and are safe when somebody persists it: the first thread that wants
// that leads, and does it for all that was appended before; entries that come meanwhile are the next leader's. A thread
// that does not want to wait has a callback called.
//
// The first Write or Persist that fails is the end of it: what the storage holds of the entries that were not persisted
// nobody can know, and to ask it again proves nothing. From then on everything is UNAVAILABLE with the cause, but for
// what is read; what was persisted is still there for the next opening.
class RedoLog {
 public:
  // Exactly once, in the log's order, on a thread that persists, without locks: OK when the entry is safe. May append,
  // release and Flush, but neither Persist nor end the log.
  using Persisted = absl::AnyInvocable<void(const absl::Status& status)>;

  // Makes the log if the storage is blank (IsBlank), else shows `visit` all entries, first to last. When this returns
  // OK, all of them are safe. Errors, which leave the storage as it is: IsBlank's, Recover's, the visitor's, the
  // storage's; FAILED_PRECONDITION for another identity.
  static absl::StatusOr<std::unique_ptr<RedoLog>> Open(std::unique_ptr<Storage> storage, const RedoLogOptions& options,
                                                       EntryVisitor visit);
  // Nobody is in any call. Callbacks of what was never persisted are called, with CANCELLED, and call nothing here.
  ~RedoLog();

  // Returns the position, greater than any before, by which the entry is released or read later. entry.position is not
  // looked at; its kind is not kPad. `done` may be empty. Errors, upon which `done` is never called: RESOURCE_EXHAUSTED
  // if less than `keep_free` bytes would be left (or will be, until a Flush frees the space of released entries);
  // INVALID_ARGUMENT if it is larger than largest_payload().
  absl::StatusOr<uint64_t> Append(const Entry& entry, uint64_t keep_free, Persisted done) ABSL_LOCKS_EXCLUDED(mu_);

  // Returns when all that was appended before is safe and its callbacks have been called.
  absl::Status Persist() ABSL_LOCKS_EXCLUDED(mu_);
  // Sees to the same, but does not wait for another thread that leads: that one does it. May lead for entries of others
  // for as long as they come faster than they are persisted, and nobody waits in Persist.
  void Flush() ABSL_LOCKS_EXCLUDED(mu_);

  // As if the storage had failed.
  void GiveUp(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mu_);

  // The entry is wanted no more; nor are, in the next opening, those before it that are released. (The last of all is
  // shown again all the same.) What makes it needless, such as a later entry, must be safe. In any order; once.
  void Release(uint64_t position) ABSL_LOCKS_EXCLUDED(mu_);
  // The payload is in `payload`. For entries that are safe and not released.
  absl::StatusOr<Entry> Read(uint64_t position, std::string& payload) const;

  struct Usage {
    uint64_t capacity = 0;
    uint64_t used = 0;  // from the first entry that is not released
    uint64_t head = 0;  // its position, or where the next will be
  };
  Usage usage() const ABSL_LOCKS_EXCLUDED(mu_);
  // OK, or why nothing more is taken.
  absl::Status health() const ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t largest_payload() const;
  const LogId& identity() const { return identity_; }
  // What is achieved when `Persisted` says OK.
  Persistence persistence() const { return storage_->persistence(); }

 private:
  struct Word {
    uint64_t place;
    uint64_t value;
  };
  // What one leader does.
  struct Batch {
    uint64_t begin = 0;  // positions
    uint64_t end = 0;
    uint64_t last = 0;  // of the entry before the end
    std::vector<Word> words;
    std::vector<Persisted> done;
    std::optional<HeadSlot> slot;
  };

  RedoLog(std::unique_ptr<Storage> storage, const LogId& identity, LogSpace space);

  absl::Status Start(const Recovered& recovered);
  absl::Status MakeSafe(const Recovered& recovered);
  absl::Status Put(const EntryHeader& header, uint64_t position, absl::string_view payload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(const absl::Status& cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t SafeHead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NeedsSlot() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Lead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeadForOthers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Batch TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndBatch(const Batch& batch, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Commit(const Batch& batch);
  std::vector<Extent> ExtentsOf(uint64_t begin, uint64_t end) const;

  const std::unique_ptr<Storage> storage_;
  const LogId identity_;
  const uint64_t ring_bytes_;
  uint32_t epoch_ = 0;  // of this opening

  mutable Mutex mu_;
  std::condition_variable_any changed_;  // by whoever stops leading
  LogSpace space_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::vector<Word> words_ ABSL_GUARDED_BY(mu_);         // of entries that the next leader persists
  std::vector<Persisted> waiting_ ABSL_GUARDED_BY(mu_);  // for it
  uint64_t persisted_ ABSL_GUARDED_BY(mu_) = 0;          // position up to which all is safe
  uint64_t last_persisted_ ABSL_GUARDED_BY(mu_) = 0;     // the entry before that
  uint64_t told_ ABSL_GUARDED_BY(mu_) = 0;               // and all callbacks have been called
  HeadSlot slot_ ABSL_GUARDED_BY(mu_);                   // the newest that is safe
  bool leading_ ABSL_GUARDED_BY(mu_) = false;
  bool flush_again_ ABSL_GUARDED_BY(mu_) = false;  // asked of the leader
  bool room_wanted_ ABSL_GUARDED_BY(mu_) = false;  // an entry found no place, and would if the head were persisted
  int persisting_ ABSL_GUARDED_BY(mu_) = 0;        // threads that wait in Persist
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_REDO_LOG_H_
