// A replica's log: it takes what its primary has written, and says when that is safe here, too. Until it is promoted,
// nothing is executed from it.
//
//   none ──> copy ──> whole ──batch──> whole          a copy is beside the log, and takes its place when it is whole:
//              ^        |                             what was acknowledged stays until then
//              +────────+  too far behind, or another run of the primary
#ifndef SKEIN_CORE_DURABLE_REPLICAS_REPLICA_LOG_H_
#define SKEIN_CORE_DURABLE_REPLICAS_REPLICA_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/durable/replicas/changes.h"
#include "core/durable/replicas/log_place.h"
#include "core/durable/replicas/request.h"
#include "core/durable/replicas/standing.h"

namespace skein::durable {

// One thread at a time.
class ReplicaLog {
 public:
  // The log that is there, or none yet. A log that a server had is a replica's from now on. FAILED_PRECONDITION:
  // something else is there; the place's errors.
  static absl::StatusOr<std::unique_ptr<ReplicaLog>> Open(std::unique_ptr<LogPlace> place);

  // All but the answer to an offer. A primary that may be followed is followed from now on, instead of any other: what
  // others have sent is applied no more.
  ReplicaAnswer Answer(const ReplicaRequest& request);
  // What the primary sends (changes.h), once it is safe. After an error, this connection has ended; if it is the
  // storage's, so has all following until the next Open.
  absl::Status Apply(absl::string_view changes);

  const Standing& standing() const { return standing_; }
  // The largest message that a primary of a log of so many bytes sends.
  static uint64_t LargestChanges(uint64_t bytes) { return 3 * bytes + (uint64_t{8} << 20); }

 private:
  struct Copy {
    std::unique_ptr<Storage> storage;
    uint64_t position = 0;
    std::optional<uint64_t> whole_at;
    uint64_t unpersisted = 0;  // bytes
  };

  explicit ReplicaLog(std::unique_ptr<LogPlace> place) : place_(std::move(place)) {}

  absl::Status Start();
  absl::Status BecomeReplica();
  absl::Status Check(const ReplicaRequest& request) const;
  absl::Status Promise(const Term& term, uint64_t bytes);
  absl::Status ApplyOne(const Change& change);
  absl::Status BeginCopy(uint64_t position);
  absl::Status PutBytes(uint64_t offset, absl::string_view bytes);
  absl::Status PersistMuchOfCopy();
  absl::Status PutZeros(uint64_t offset, uint64_t length);
  absl::Status EndBatch(uint64_t number);
  absl::Status TakeCopyIfWhole();
  absl::Status Failed(const absl::Status& status);
  static absl::Status Out(absl::string_view why);
  Storage& target() { return copy_ ? *copy_->storage : *log_; }
  bool has_content() const { return standing_.logs > 0; }

  const std::unique_ptr<LogPlace> place_;
  std::unique_ptr<Storage> log_;  // null: none
  Standing standing_;
  LogId identity_{};       // if there is content
  uint64_t run_ = 0;       // whose batches are counted here; 0: of none since this was opened
  uint64_t position_ = 0;  // the last batch of it that is safe
  absl::Status failure_;   // the storage's

  std::optional<ReplicaRequest> primary_;  // that is followed
  bool begun_ = false;                     // by its first change
  std::optional<Copy> copy_;
  std::vector<Extent> written_;  // since the last batch, to target()
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_REPLICA_LOG_H_
