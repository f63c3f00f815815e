#include "core/fabric/requests.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace skein::fabric {

bool CarriesPayload(Opcode opcode) {
  return opcode == Opcode::kSend || opcode == Opcode::kWrite || opcode == Opcode::kWriteWithImmediate;
}

bool IsAtomic(Opcode opcode) { return opcode == Opcode::kFetchAdd || opcode == Opcode::kCompareSwap; }

uint64_t TotalBytes(absl::Span<const Segment> local) {
  uint64_t total = 0;
  for (const Segment& segment : local) {
    total += std::min<uint64_t>(segment.size, std::numeric_limits<uint64_t>::max() - total);
  }
  return total;
}

absl::Status CheckSegment(const Segment& segment) {
  if (segment.size == 0 || segment.data != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("a segment with a size and no data");
}

absl::Status CheckRequest(const SendRequest& request, uint64_t max_message_bytes) {
  if (!CarriesPayload(request.opcode) && request.opcode != Opcode::kRead && !IsAtomic(request.opcode)) {
    return absl::InvalidArgumentError(absl::StrCat(OpcodeName(request.opcode), " cannot be posted"));
  }
  for (const Segment& segment : request.local) {
    if (absl::Status status = CheckSegment(segment); !status.ok()) return status;
  }
  const uint64_t total = TotalBytes(request.local);
  if (total > max_message_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a request of ", total, " bytes, where the device takes ", max_message_bytes));
  }
  if (IsAtomic(request.opcode) && (request.local.size() != 1 || total != sizeof(uint64_t))) {
    return absl::InvalidArgumentError("an atomic needs one local segment of 8 bytes");
  }
  if (IsAtomic(request.opcode) && request.remote.address % sizeof(uint64_t) != 0) {
    return absl::InvalidArgumentError("an atomic at an address that is no multiple of 8");
  }
  return absl::OkStatus();
}

absl::Status CheckFlush(const SendRequest& request, const DeviceCapabilities& device, bool made_for_flushes) {
  if (!made_for_flushes) return absl::InvalidArgumentError("a FLUSH on a queue pair that was not made for FLUSHes");
  if (!(request.placement == Placement::kPersistent ? device.flush_persistent : device.flush)) {
    return absl::InvalidArgumentError("a FLUSH to where the device brings nothing");
  }
  if (!request.local.empty()) return absl::InvalidArgumentError("a FLUSH with local segments");
  if (request.operand == 0 || request.operand > kMostFlushBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a FLUSH of ", request.operand, " bytes; it is of 1 to ", kMostFlushBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckFlushAccess(uint32_t access, const DeviceCapabilities& device) {
  const uint32_t offered = (device.flush ? kRemoteFlush : 0u) | (device.flush_persistent ? kRemoteFlushPersistent : 0u);
  if ((access & (kRemoteFlush | kRemoteFlushPersistent) & ~offered) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError("memory for FLUSHes that the device does not offer");
}

absl::Status CheckFlushOption(const QueuePairOptions& options, const DeviceCapabilities& device) {
  if (!options.flushes || device.flush || device.flush_persistent) return absl::OkStatus();
  return absl::FailedPreconditionError("a queue pair for FLUSHes, which the device does not offer");
}

absl::Status NoOwnReceives() {
  return absl::InvalidArgumentError("the queue pair takes from a shared receive queue: post there");
}

}  // namespace skein::fabric
