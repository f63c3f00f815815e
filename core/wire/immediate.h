// The 32 bits that come with a WRITE_WITH_IMM: a notification, and perhaps a renewal of the queue pair's credits.
#ifndef SKEIN_CORE_WIRE_IMMEDIATE_H_
#define SKEIN_CORE_WIRE_IMMEDIATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace skein::wire {

inline constexpr uint32_t kNotify = 0;
inline constexpr uint32_t kRenewal = 1u << 16;

// Whether it is a renewal; else it is a mere notification. DATA_LOSS for anything else.
inline absl::StatusOr<bool> IsRenewal(uint32_t immediate) {
  if (immediate != kNotify && immediate != kRenewal) {
    return absl::DataLossError(absl::StrCat("an immediate of ", absl::Hex(immediate, absl::kZeroPad8)));
  }
  return immediate == kRenewal;
}

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_IMMEDIATE_H_
