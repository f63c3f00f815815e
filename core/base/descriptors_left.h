// How near this process is to its limit on open files (ulimit -n).
#ifndef SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
#define SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_

namespace skein {

// Whether about `wanted` more descriptors can be had: if those below the lowest free one are all that are open.
bool DescriptorsLeft(int wanted);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_DESCRIPTORS_LEFT_H_
