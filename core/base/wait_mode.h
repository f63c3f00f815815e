#ifndef SKEIN_CORE_BASE_WAIT_MODE_H_
#define SKEIN_CORE_BASE_WAIT_MODE_H_

#include <cstdint>

namespace skein {

// How threads wait. poll: never sleep. hybrid: spin while it pays, then sleep. block: sleep at once.
enum class WaitMode : uint8_t { kPoll, kHybrid, kBlock };

}  // namespace skein

#endif  // SKEIN_CORE_BASE_WAIT_MODE_H_
