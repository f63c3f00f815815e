// What every fabric asks of a request before it takes it.
#ifndef SKEIN_CORE_FABRIC_REQUESTS_H_
#define SKEIN_CORE_FABRIC_REQUESTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"

namespace skein::fabric {

// Its local segments are a source: SEND and both WRITEs.
bool CarriesPayload(Opcode opcode);
bool IsAtomic(Opcode opcode);
// Saturates: sizes that wrap around must not look like a short message.
uint64_t TotalBytes(absl::Span<const Segment> local);

// INVALID_ARGUMENT for what the contract does not allow, whatever the device.
absl::Status CheckSegment(const Segment& segment);
absl::Status CheckRequest(const SendRequest& request, uint64_t max_message_bytes);

// What PostReceive answers on a queue pair that shares its receives.
absl::Status NoOwnReceives();

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_REQUESTS_H_
