#include "core/durable/flush/flush_mode.h"

namespace skein::durable {
namespace {

constexpr FlushMode kModes[] = {FlushMode::kWFlush, FlushMode::kSFlush, FlushMode::kWRFlush, FlushMode::kSRFlush};

}  // namespace

absl::string_view FlushVerbName(FlushVerb verb) {
  switch (verb) {
    case FlushVerb::kRead:
      return "READ";
    case FlushVerb::kFlush:
      return "FLUSH";
    case FlushVerb::kFlushPersistent:
      return "FLUSH to persistence";
  }
  return "unknown";
}

absl::string_view FlushModeName(FlushMode mode) {
  switch (mode) {
    case FlushMode::kWFlush:
      return "wflush";
    case FlushMode::kSFlush:
      return "sflush";
    case FlushMode::kWRFlush:
      return "w-rflush";
    case FlushMode::kSRFlush:
      return "s-rflush";
  }
  return "unknown";
}

std::optional<FlushMode> FlushModeOf(absl::string_view name) {
  for (const FlushMode mode : kModes) {
    if (FlushModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

bool IsFlushMode(uint8_t number) { return FlushModeName(static_cast<FlushMode>(number)) != "unknown"; }

}  // namespace skein::durable
