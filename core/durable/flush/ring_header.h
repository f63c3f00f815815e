// The first page of a flush ring's storage: that it is one, which one, and of what shape.
#ifndef SKEIN_CORE_DURABLE_FLUSH_RING_HEADER_H_
#define SKEIN_CORE_DURABLE_FLUSH_RING_HEADER_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/durable/flush/flush_entry.h"
#include "core/durable/flush/ring_layout.h"
#include "core/durable/log/identity.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// Makes an empty ring if the storage is blank (all zeros, or a making that was cut short). Returns the ring's identity.
// Errors, upon which the storage is as it was: INVALID_ARGUMENT if it is smaller than StorageBytes; FAILED_PRECONDITION
// if something else is there, or a ring of another version, shape, header place or identity than the one named;
// DATA_LOSS if it is damaged.
absl::StatusOr<LogId> MakeOrReadRing(Storage& storage, const RingShape& shape, HeaderPlace place,
                                     const std::optional<LogId>& identity);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_RING_HEADER_H_
