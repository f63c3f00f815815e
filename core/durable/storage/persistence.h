// How safe bytes are that a receiver has taken: the one list of levels, and what each means.
#ifndef SKEIN_CORE_DURABLE_STORAGE_PERSISTENCE_H_
#define SKEIN_CORE_DURABLE_STORAGE_PERSISTENCE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace skein::durable {

// The numbers go over the wire and are never reused. They are no order: what is emulated has been through every step of
// persisting, and yet survives less than what was flushed to real persistent memory.
enum class Persistence : uint8_t {
  // Readable by the receiving host's CPUs, may be from a cache. Lost with the process that holds the memory.
  kVisible = 1,
  // Written back from the receiver's CPU caches by its CPU, to memory that keeps nothing without power.
  kCpuFlushed = 2,
  // Pushed by the sender out of the receiver's device (FLUSH, or a READ behind it) as far as this platform lets a
  // device push it. Whether that is the persistence domain (no DDIO, ADR or eADR) nobody has claimed.
  kFlushed = 3,
  // On a medium that keeps it without power: survives the process, the operating system and a power failure.
  kPersistent = 4,
  // All steps of persistent were taken, on a medium that keeps nothing without power, or is not known to: survives the
  // process only. For tests and for trying things out.
  kEmulated = 5,
};

// "visible", "cpu-flushed", "flushed", "persistent", "emulated"; "unknown" for any other number.
absl::string_view PersistenceName(Persistence level);
std::optional<Persistence> PersistenceOf(absl::string_view name);
// Whether who asks for `wanted` at least has it with `level`. Persistent is all of them; emulated is itself and
// visible.
bool Gives(Persistence level, Persistence wanted);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_PERSISTENCE_H_
