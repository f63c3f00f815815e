#include "core/durable/storage/persistence.h"

#include <array>

namespace skein::durable {
namespace {

constexpr std::array<Persistence, 5> kLevels = {Persistence::kVisible, Persistence::kCpuFlushed, Persistence::kFlushed,
                                                Persistence::kPersistent, Persistence::kEmulated};

// Of what is no medium.
int Rank(Persistence level) {
  switch (level) {
    case Persistence::kVisible:
      return 0;
    case Persistence::kCpuFlushed:
      return 1;
    case Persistence::kFlushed:
      return 2;
    case Persistence::kEmulated:
      return 0;
    case Persistence::kPersistent:
      return 3;
  }
  return -1;
}

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
  if (level == wanted || level == Persistence::kPersistent) return true;
  if (wanted == Persistence::kPersistent || wanted == Persistence::kEmulated) return false;
  return Rank(level) >= Rank(wanted);
}

}  // namespace skein::durable
