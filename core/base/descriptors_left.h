// How near this process is to its limit on open files (ulimit -n).
#ifndef SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
#define SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_

#include "absl/status/status.h"

namespace skein {

// Whether `wanted` more descriptors can be had, if nobody else takes one. Costs `wanted` system calls, and one for each
// descriptor that is open near the limit.
bool DescriptorsLeft(int wanted);
// The same. FallbackError: kResources, and what to raise.
absl::Status CheckDescriptorsLeft(int wanted);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
