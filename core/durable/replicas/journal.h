// What a primary has written to its log of late, in batches, for its replicas to write, too; and which replicas have
// how much of it.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_JOURNAL_H_
#define SKEIN_CORE_DURABLE_REPLICAS_JOURNAL_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"

namespace skein::durable {

struct JournalOptions {
  std::vector<std::string> replicas = {};       // their names, for messages
  uint32_t acknowledge = 1;                     // logs that must have a batch, the primary's own included
  uint64_t kept_bytes = uint64_t{16} << 20;     // of batches; a replica that lacks earlier ones needs a copy
  absl::Duration patience = absl::Seconds(30);  // of Await
  // For simulations, on one thread: instead of sleeping, Await has this move things; false: nothing moves any more.
  std::function<bool()> move = nullptr;
};

// Any thread.
class Journal {
 public:
  explicit Journal(const JournalOptions& options);
  ~Journal();

  // What was written to the log, after it was: whoever copies the log then has it, or gets it by the batch.
  void Write(uint64_t offset, absl::Span<const absl::string_view> pieces) ABSL_LOCKS_EXCLUDED(mu_);
  // Ends the batch of all that was written before, if there is any. The number of the last batch; they count from 1.
  uint64_t Seal() ABSL_LOCKS_EXCLUDED(mu_);
  // Until enough logs have the batches up to `number`; the primary's own does. UNAVAILABLE: not in time, and no copy
  // has moved for as long; the message says which replicas lack it, and why. Or what End was told.
  absl::Status Await(uint64_t number) ABSL_LOCKS_EXCLUDED(mu_);

  // The batches behind `number`, `most` bytes of them, or one at least; nullopt: they are not kept any more.
  struct Batches {
    std::string bytes;
    uint64_t last = 0;
  };
  std::optional<Batches> After(uint64_t number, uint64_t most) const ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t sealed() const ABSL_LOCKS_EXCLUDED(mu_);

  // Of a replica whose log is whole: it is safe there up to `number`.
  void Have(size_t replica, uint64_t number) ABSL_LOCKS_EXCLUDED(mu_);
  // The replica has so much of a copy that it is being sent. Await's patience begins anew.
  void Copying(size_t replica, uint64_t bytes, uint64_t of) ABSL_LOCKS_EXCLUDED(mu_);
  // It does not follow any more, or not yet.
  void Lack(size_t replica, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  // Nothing more will be acknowledged: a log of a later term exists, say. The first cause stays.
  void End(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  bool ended() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Batch {
    uint64_t number = 0;
    std::string bytes;
  };
  struct Replica {
    std::optional<uint64_t> has;
    absl::Status why;
  };

  // Sets that, and counts the replicas that follow.
  static void SetHas(Replica& replica, std::optional<uint64_t> has);
  // Enough logs have the batches up to this one; nullopt: too few have any log.
  std::optional<uint64_t> Safe() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TooFew(uint64_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const JournalOptions options_;
  mutable Mutex mu_;  // a leaf
  std::condition_variable_any changed_;
  std::string open_ ABSL_GUARDED_BY(mu_);  // the batch that is being written
  std::deque<Batch> batches_ ABSL_GUARDED_BY(mu_);
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of batches_
  uint64_t sealed_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Replica> replicas_ ABSL_GUARDED_BY(mu_);
  Deadline patient_until_ ABSL_GUARDED_BY(mu_);  // at least, for copies
  absl::Status end_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_JOURNAL_H_
