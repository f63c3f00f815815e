#include "core/durable/flush/level.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace skein::durable {
namespace {

// How far a READ pushes what was sent before it.
Persistence Pushed(const LogMemory& memory, const PlatformHints& platform) {
  const bool in_cpu_cache = platform.ddio;
  if (in_cpu_cache && platform.domain != PersistenceDomain::kEadr) return Persistence::kVisible;
  // Pages of an ordinary file reach their medium by msync only, whatever the caches keep.
  const bool on_medium = memory.in_place && memory.fine_grained;
  if (!on_medium) return in_cpu_cache ? Persistence::kVisible : Persistence::kFlushed;
  if (platform.domain == PersistenceDomain::kUnclaimed) return Persistence::kFlushed;
  return memory.on_persist;
}

std::string Advice(FlushMode mode, FlushVerb verb, const LogMemory& memory, const PlatformHints& platform) {
  std::vector<std::string> changes;
  if (!memory.has_storage) {
    changes.emplace_back("give the receiver a storage that persists");
  } else if (memory.on_persist != Persistence::kPersistent) {
    changes.push_back(
        absl::StrCat("put the log on a medium that persists (this one is ", PersistenceName(memory.on_persist), ")"));
  }
  if (FlushedBySender(mode) && verb != FlushVerb::kFlushPersistent) {
    const FlushMode other = SentByWrite(mode) ? FlushMode::kWRFlush : FlushMode::kSRFlush;
    if (platform.ddio)
      changes.emplace_back("switch DDIO off for the receiver's device and say so, or say eADR if it has it");
    if (!platform.ddio && platform.domain == PersistenceDomain::kUnclaimed) {
      changes.emplace_back("say the receiver's persistence domain, ADR or eADR");
    }
    if (memory.has_storage && !memory.fine_grained) changes.emplace_back("put the log on a DAX file system");
    changes.push_back(absl::StrCat("or let the receiver's CPU flush: ", FlushModeName(other)));
  }
  return absl::StrJoin(changes, "; ");
}

}  // namespace

Persistence Achieved(FlushMode mode, FlushVerb verb, const LogMemory& memory, const PlatformHints& platform) {
  if (!FlushedBySender(mode)) return memory.has_storage ? memory.on_persist : Persistence::kVisible;
  switch (verb) {
    case FlushVerb::kRead:
      break;
    case FlushVerb::kFlush:
      return Persistence::kVisible;
    case FlushVerb::kFlushPersistent:
      return memory.on_persist;
  }
  return Pushed(memory, platform);
}

FlushVerb BestVerb(FlushMode mode, const LogMemory& memory, const PlatformHints& platform, bool flush,
                   bool flush_persistent) {
  if (!FlushedBySender(mode)) return FlushVerb::kRead;
  if (flush_persistent && memory.in_place && memory.fine_grained) return FlushVerb::kFlushPersistent;
  return flush && Pushed(memory, platform) == Persistence::kVisible ? FlushVerb::kFlush : FlushVerb::kRead;
}

absl::Status CheckWanted(Persistence wanted, FlushMode mode, FlushVerb verb, const LogMemory& memory,
                         const PlatformHints& platform) {
  const Persistence achieved = Achieved(mode, verb, memory, platform);
  if (Gives(achieved, wanted)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(FlushModeName(mode), " achieves ", PersistenceName(achieved),
                                                    " here, not ", PersistenceName(wanted), ": ",
                                                    Advice(mode, verb, memory, platform)));
}

}  // namespace skein::durable
