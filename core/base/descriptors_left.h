// How near this process is to its limit on open files (ulimit -n).
#ifndef SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
#define SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_

#include "absl/status/status.h"

namespace skein {

// Whether the limit leaves `wanted` more descriptors. One system call. False also where most of the highest numbers are
// taken, and lower ones are free.
bool DescriptorsLeft(int wanted);
// The same. FallbackError: kResources, and what to raise.
absl::Status CheckDescriptorsLeft(int wanted);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
