// Who is who in a log.
#ifndef SKEIN_CORE_DURABLE_LOG_IDENTITY_H_
#define SKEIN_CORE_DURABLE_LOG_IDENTITY_H_

#include <array>
#include <cstdint>

#include "core/base/random_value.h"

namespace skein::durable {

// A client's, chosen by it at random, the same for as long as it counts one row of sequences: over reconnects.
using ClientId = std::array<uint8_t, 16>;
// A log's, chosen at random when it was made, and told nobody who may send requests: see Stamp.
using LogId = std::array<uint8_t, 16>;

inline std::array<uint8_t, 16> RandomId() { return RandomValue<std::array<uint8_t, 16>>(); }

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_IDENTITY_H_
