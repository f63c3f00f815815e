// A log's storage, with the replicas that a user has named.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_OPEN_REPLICATED_H_
#define SKEIN_CORE_DURABLE_REPLICAS_OPEN_REPLICATED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

struct ReplicaOptions {
  std::vector<std::string> replicas = {};  // "host:port" of each; none: the log is by itself
  uint32_t acknowledge = 0;                // logs that must have what is acknowledged, the own one included; 0: all
  absl::Duration patience = absl::Seconds(30);  // for so many; then nothing more is acknowledged
};

// As OpenStorage, and connects to the replicas meanwhile. INVALID_ARGUMENT: more to acknowledge than there are logs, an
// address twice, or one that is none; with replicas, also a SKEIN_* variable with a value that is not allowed.
// FAILED_PRECONDITION: a replica's log, or one that has been superseded.
absl::StatusOr<std::unique_ptr<Storage>> OpenReplicatedStorage(const std::string& path, uint64_t bytes,
                                                               const ReplicaOptions& options);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_OPEN_REPLICATED_H_
