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
// As much as one FLUSH may name.
inline constexpr uint64_t kMostFlushBytes = uint64_t{1} << 31;
// Saturates: sizes that wrap around must not look like a short message.
uint64_t TotalBytes(absl::Span<const Segment> local);

// INVALID_ARGUMENT for what the contract does not allow, whatever the device; and for a FLUSH, which few offer.
absl::Status CheckSegment(const Segment& segment);
absl::Status CheckRequest(const SendRequest& request, uint64_t max_message_bytes);
// Of a FLUSH, on a device of these capabilities, by a queue pair that was made for FLUSHes or not.
absl::Status CheckFlush(const SendRequest& request, const DeviceCapabilities& device, bool made_for_flushes);
// FAILED_PRECONDITION for memory, and for a queue pair, with FLUSHes that the device does not offer.
absl::Status CheckFlushAccess(uint32_t access, const DeviceCapabilities& device);
absl::Status CheckFlushOption(const QueuePairOptions& options, const DeviceCapabilities& device);

// What PostReceive answers on a queue pair that shares its receives.
absl::Status NoOwnReceives();

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_REQUESTS_H_
