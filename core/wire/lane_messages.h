// How one more lane of a link is asked for and given, over the lanes that there are; FORMAT.md, "Lanes".
#ifndef SKEIN_CORE_WIRE_LANE_MESSAGES_H_
#define SKEIN_CORE_WIRE_LANE_MESSAGES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/wire/ring_descriptor.h"

namespace skein::wire {

inline constexpr size_t kMaxQueuePairBytes = 512;  // of an offer or an answer

struct OpenLane {
  uint16_t lane = 0;
  std::string queue_pair;  // its Offer()
};

struct GivenLane {
  uint16_t lane = 0;
  RingDescriptor ring;
  std::string queue_pair;  // the answer
};

std::string Encode(const OpenLane& message);
std::string Encode(const GivenLane& message);
// DATA_LOSS for anything else.
absl::StatusOr<OpenLane> DecodeOpenLane(absl::string_view bytes);
absl::StatusOr<GivenLane> DecodeGivenLane(absl::string_view bytes);

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_LANE_MESSAGES_H_
