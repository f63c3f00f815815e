#include "core/wire/control.h"

#include "absl/status/status.h"
#include "core/wire/message.h"

namespace skein::wire {
namespace {

constexpr int kRefillsShift = 16;
constexpr int kOpenShift = 32;
constexpr int kPresenceShift = 40;
constexpr int kUnusedShift = 48;

uint64_t CheckOf(const ControlLine& line, uint64_t secret) {
  uint64_t check = ~secret;
  for (size_t i = 0; i + 1 < kControlWords; ++i) check = Mix(check + line[i]);
  return check;
}

}  // namespace

ControlLine EncodeControl(const Control& control, uint64_t secret) {
  ControlLine line = {control.consumed, control.wanted};
  line[2] = uint64_t{control.answers} | uint64_t{control.refills} << kRefillsShift |
            uint64_t{control.open} << kOpenShift | static_cast<uint64_t>(control.presence) << kPresenceShift;
  line[3] = CheckOf(line, secret);
  return line;
}

absl::StatusOr<std::optional<Control>> DecodeControl(const ControlLine& line, uint64_t secret) {
  if (line[3] != CheckOf(line, secret)) return std::nullopt;
  const auto open = static_cast<uint8_t>(line[2] >> kOpenShift);
  const auto presence = static_cast<uint8_t>(line[2] >> kPresenceShift);
  if (open > 1 || presence > static_cast<uint8_t>(Presence::kSleepless) || line[2] >> kUnusedShift != 0) {
    return absl::DataLossError("a malformed control line");
  }
  Control control;
  control.consumed = line[0];
  control.wanted = line[1];
  control.answers = static_cast<uint16_t>(line[2]);
  control.refills = static_cast<uint16_t>(line[2] >> kRefillsShift);
  control.open = open != 0;
  control.presence = static_cast<Presence>(presence);
  return control;
}

}  // namespace skein::wire
