// errno as a Status that names what was tried and, for a limit, what to raise.
#ifndef SKEIN_CORE_BASE_ERRNO_STATUS_H_
#define SKEIN_CORE_BASE_ERRNO_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace skein {

// `what` completes "cannot ...": "create a memfd". RESOURCE_EXHAUSTED for descriptors, memory and quotas.
absl::Status ErrnoStatus(int error, absl::string_view what);
// Whether a status came of that: the kernel has refused this process something, and nobody else is to blame.
bool CameOfErrno(const absl::Status& status);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_ERRNO_STATUS_H_
