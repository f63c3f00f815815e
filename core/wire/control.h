// What one end of a ring's channel says of itself: in no message, but in a line behind the peer's ring, which it
// overwrites whenever it likes. FORMAT.md, "Control line".
#ifndef SKEIN_CORE_WIRE_CONTROL_H_
#define SKEIN_CORE_WIRE_CONTROL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

namespace skein::wire {

// Of a reader.
enum class Presence : uint8_t {
  kMaySleep = 0,
  kAwake = 1,      // until it says otherwise
  kSleepless = 2,  // for ever
};

struct Control {
  uint64_t consumed = 0;  // bytes of its own ring, since the start
  // It is to hear at once when the peer has consumed so many bytes of the peer's ring.
  uint64_t wanted = 0;
  uint16_t answers = 0;  // to the peer's renewals, yes and no
  uint16_t refills = 0;  // C credits each: renewals granted, and activations
  bool open = false;     // the peer may send data
  Presence presence = Presence::kMaySleep;

  friend bool operator==(const Control&, const Control&) = default;
};

inline constexpr size_t kControlWords = 4;
using ControlLine = std::array<uint64_t, kControlWords>;
inline constexpr size_t kControlBytes = 64;  // behind each ring; the line is at their beginning

// The last word is a check of the others, under the ring's secret.
ControlLine EncodeControl(const Control& control, uint64_t secret);
// Nothing: the check is of other words, as long as a line lands over another one. DATA_LOSS: the check is right, and
// no Skein writes that.
absl::StatusOr<std::optional<Control>> DecodeControl(const ControlLine& line, uint64_t secret);

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_CONTROL_H_
