// A replica's log becomes the log that is served: by hand, when its primary is gone for good.
//
// Of N logs, k of which have what is acknowledged, any N - k + 1 hold at least one that has all of it. So a promotion
// looks at so many, takes no log that is behind another, and has them promise to follow no earlier term: then nothing
// acknowledged is lost, and the former primary, should it live, finds no k logs any more.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_PROMOTION_H_
#define SKEIN_CORE_DURABLE_REPLICAS_PROMOTION_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/durable/replicas/request.h"
#include "core/durable/replicas/standing.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// Another replica of the same log, whose process runs.
struct OtherReplica {
  std::string name;
  std::function<absl::StatusOr<ReplicaAnswer>(const ReplicaRequest& request)> ask;
};

struct ReplicaState {
  Standing standing = {};
  Progress progress = {};
  LogId identity{};
};
// Of a replica's log. FAILED_PRECONDITION: it is none, or has no log's content yet. The log's own errors.
absl::StatusOr<ReplicaState> ReadReplica(const Storage& replica);

struct Promotion {
  Term term = {};
  uint32_t seen = 0;    // logs, this one included
  uint32_t needed = 0;  // of them
};
// `replica` is a log from now on, to be opened by a server. FAILED_PRECONDITION: too few logs were seen, or another one
// goes further; the message names it. INVALID_ARGUMENT: one of `others` is named twice. `accept_loss`
// allows too few logs, and a log that is not the furthest: calls that only other logs have are lost then, and the
// former primary may go on. The other replicas may have promised all the same: then their primary cannot go on.
absl::StatusOr<Promotion> Promote(Storage& replica, absl::Span<const OtherReplica> others, bool accept_loss);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_PROMOTION_H_
