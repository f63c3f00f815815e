// Two devices of this process, connected to each other, and bytes written from one to the other.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_TRIAL_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_TRIAL_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"

namespace skein::doctor {

// A WRITE of each of the sizes (bytes, each 8 or more): each is awaited, and its bytes are compared at the other end.
// How long the last took, or which step failed, with the status and the payloads of that step. Waits for 5 s at most
// with each.
absl::StatusOr<absl::Duration> TryFabric(const std::shared_ptr<fabric::Device>& from,
                                         const std::shared_ptr<fabric::Device>& to, absl::Span<const size_t> sizes);

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_TRIAL_H_
