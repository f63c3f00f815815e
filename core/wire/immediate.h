// The 32 bits that come with a WRITE_WITH_IMM: a notification, and perhaps a renewal of the queue pair's credits.
#ifndef SKEIN_CORE_WIRE_IMMEDIATE_H_
#define SKEIN_CORE_WIRE_IMMEDIATE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace skein::wire {

inline constexpr uint32_t kBell = 0;
inline constexpr uint32_t kRenewal = 1u << 16;

// `degree`: the median coalescing degree since the last renewal.
constexpr uint32_t EncodeRenewal(uint16_t degree) { return kRenewal | degree; }

// The degree of a renewal, none of a mere notification. DATA_LOSS for anything else.
inline absl::StatusOr<std::optional<uint16_t>> DecodeImmediate(uint32_t immediate) {
  if (immediate == kBell) return std::nullopt;
  if ((immediate & ~uint32_t{0xffff}) != kRenewal) {
    return absl::DataLossError(absl::StrCat("an immediate of ", absl::Hex(immediate, absl::kZeroPad8)));
  }
  return static_cast<uint16_t>(immediate & 0xffff);
}

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_IMMEDIATE_H_
