// What a primary's own log says to the replicas that are to follow it.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_PRIMARY_H_
#define SKEIN_CORE_DURABLE_REPLICAS_PRIMARY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/durable/replicas/request.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// Makes a log where there is none, and writes down that it has so many `logs`, itself included, of which `acknowledge`
// must have what is acknowledged. Gives the request to follow it, without group and offer. FAILED_PRECONDITION: it is a
// replica's, or has been superseded; IsBlank's and ReadLogHeader's errors; the storage's.
absl::StatusOr<ReplicaRequest> PrepareLog(Storage& own, uint32_t logs, uint32_t acknowledge);

// Whether a log of a later term exists, or one of the same that knows nothing of this: nothing may be acknowledged any
// more.
bool IsSuperseded(const ReplicaAnswer& answer, const ReplicaRequest& request);
// OK, or why the replica does not follow. FAILED_PRECONDITION: its level is less than this log's.
absl::Status WhyNot(const ReplicaAnswer& answer, const ReplicaRequest& request, Persistence own);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_PRIMARY_H_
