// Two devices of this process, connected to each other, and bytes written from one to the other.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_FABRIC_TRIAL_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_FABRIC_TRIAL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/fabric/fabric.h"

namespace skein::doctor {

inline constexpr size_t kSmallWrite = 64;
inline constexpr size_t kLargeWrite = size_t{1} << 20;

// A small WRITE, a large one, and a small one again: each is awaited, and its bytes are compared at the other end. How
// long the last took, or which step failed.
absl::StatusOr<absl::Duration> TryFabric(const std::shared_ptr<fabric::Device>& from,
                                         const std::shared_ptr<fabric::Device>& to);

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_FABRIC_TRIAL_H_
