#include "core/durable/storage/persistence.h"

#include <array>

namespace skein::durable {
namespace {

constexpr std::array<Persistence, 5> kLevels = {Persistence::kVisible, Persistence::kCpuFlushed, Persistence::kFlushed,
                                                Persistence::kPersistent, Persistence::kEmulated};

}  // namespace

absl::string_view PersistenceName(Persistence level) {
  switch (level) {
    case Persistence::kVisible:
      return "visible";
    case Persistence::kCpuFlushed:
      return "cpu-flushed";
    case Persistence::kFlushed:
      return "flushed";
    case Persistence::kPersistent:
      return "persistent";
    case Persistence::kEmulated:
      return "emulated";
  }
  return "unknown";
}

std::optional<Persistence> PersistenceOf(absl::string_view name) {
  for (const Persistence level : kLevels) {
    if (PersistenceName(level) == name) return level;
  }
  return std::nullopt;
}

bool Gives(Persistence level, Persistence wanted) {
  if (level == Persistence::kEmulated || wanted == Persistence::kEmulated)
    return level == wanted || wanted == Persistence::kVisible;
  return level >= wanted;
}

}  // namespace skein::durable
