// Whether there is something in a storage.
#ifndef SKEIN_CORE_DURABLE_STORAGE_BLANK_H_
#define SKEIN_CORE_DURABLE_STORAGE_BLANK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

// Nothing but zeros, or what begins with `making`: whoever was making it died. False: it begins with `made`.
// FAILED_PRECONDITION: something else is there, and no `kind`. The storage's errors.
absl::StatusOr<bool> IsBlank(const Storage& storage, uint64_t making, uint64_t made, absl::string_view kind);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_BLANK_H_
