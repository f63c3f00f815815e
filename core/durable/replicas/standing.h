// What a log's first page says of its replicas: whom it may follow, and whose log it is. FORMAT.md draws it.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_STANDING_H_
#define SKEIN_CORE_DURABLE_REPLICAS_STANDING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/durable/replicas/term.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

struct Standing {
  Term promised = {};        // no primary of an earlier term is followed
  Term content = {};         // the term of the primary that wrote what is in the log
  uint32_t logs = 0;         // which that primary had, its own included; 0: there is no log here yet, only a promise
  uint32_t acknowledge = 0;  // how many of them had what it acknowledged
  bool operator==(const Standing&) const = default;
};

// The bytes of the first page that belong to the process which has the file: a primary's changes and a copy of its log
// leave them out.
inline constexpr uint64_t kStandingOffset = 512;
inline constexpr uint64_t kStandingBytes = 1024;

// All zero where none was ever written. DATA_LOSS: damaged. The storage's errors.
absl::StatusOr<Standing> ReadStanding(const Storage& storage);
// It is persisted when this returns OK; cut short, the former one counts.
absl::Status WriteStanding(Storage& storage, const Standing& standing);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_STANDING_H_
