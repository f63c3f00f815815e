// Where a ring is and what its writer must know.
#ifndef SKEIN_CORE_WIRE_RING_DESCRIPTOR_H_
#define SKEIN_CORE_WIRE_RING_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::wire {

inline constexpr uint64_t kRingGranule = uint64_t{64} << 10;
inline constexpr uint64_t kMaxRingBytes = uint64_t{1} << 30;

struct RingDescriptor {
  uint64_t address = 0;
  uint64_t size = 0;  // the control line (control.h) follows
  uint64_t secret = 0;
  uint32_t rkey = 0;
};
inline constexpr size_t kRingDescriptorBytes = 32;

std::string EncodeRingDescriptor(const RingDescriptor& descriptor);
// DATA_LOSS unless it is one by FORMAT.md.
absl::StatusOr<RingDescriptor> DecodeRingDescriptor(absl::string_view bytes);

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_RING_DESCRIPTOR_H_
