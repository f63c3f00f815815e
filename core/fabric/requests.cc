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

absl::Status NoOwnReceives() {
  return absl::InvalidArgumentError("the queue pair takes from a shared receive queue: post there");
}

}  // namespace skein::fabric
