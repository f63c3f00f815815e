// How near this process is to its limit on open files (ulimit -n).
#ifndef SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
#define SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_

#include "absl/status/status.h"

namespace skein {

// Whether the limit leaves `wanted` more descriptors. Looks at the 4,096 highest numbers at most. One system call,
// unless most of the 256 highest are taken.
bool DescriptorsLeft(int wanted);
// The same. FallbackError: kResources, and what to raise.
absl::Status CheckDescriptorsLeft(int wanted);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
