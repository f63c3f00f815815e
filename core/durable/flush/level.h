// What an acknowledgement may claim: a function of how it came about, of the log's medium, and of what the receiver's
// platform is said to be. Pure.
#ifndef SKEIN_CORE_DURABLE_FLUSH_LEVEL_H_
#define SKEIN_CORE_DURABLE_FLUSH_LEVEL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "core/durable/flush/flush_mode.h"
#include "core/durable/storage/persistence.h"

namespace skein::durable {

// What keeps its contents when the receiver's host loses power.
enum class PersistenceDomain : uint8_t {
  kUnclaimed,  // nobody has said
  kAdr,        // from the memory controllers on
  kEadr,       // from the CPU caches on
};

// No program can find these out, so the receiver's operator says them. The defaults claim nothing.
struct PlatformHints {
  bool ddio = true;  // devices write into the CPU's cache. False only if it is off for this device
  PersistenceDomain domain = PersistenceDomain::kUnclaimed;
};

// Where the receiver's log lies.
struct LogMemory {
  bool has_storage = false;   // else plain memory
  bool in_place = false;      // the device writes into the storage itself
  bool fine_grained = false;  // Storage::fine_grained(): what is in memory is on the medium, but for caches
  Persistence on_persist = Persistence::kVisible;  // Storage::persistence()
};

// Of an acknowledgement in `mode`, by `verb` where its sender flushes. A READ behind a WRITE or SEND pushes it out of
// the device: into the CPU's cache with DDIO, else to the memory controller. A FLUSH to persistence, or the CPU's own
// Persist, makes bytes as safe as the log's storage says, whatever the platform.
Persistence Achieved(FlushMode mode, FlushVerb verb, const LogMemory& memory, const PlatformHints& platform);

// The best that the log's memory and the two ends' devices have: a FLUSH to persistence, where `memory` is persistent
// and both offer it; one to visibility where a READ would be known to do no more; else the READ.
FlushVerb BestVerb(FlushMode mode, const LogMemory& memory, const PlatformHints& platform, bool flush,
                   bool flush_persistent);

// OK if it gives `wanted` (Gives); else FAILED_PRECONDITION with what is had, and what would have to change.
absl::Status CheckWanted(Persistence wanted, FlushMode mode, FlushVerb verb, const LogMemory& memory,
                         const PlatformHints& platform);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_LEVEL_H_
