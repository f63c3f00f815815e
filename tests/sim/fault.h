// What can go wrong, and a plan of what does and when.
#ifndef SKEIN_TESTS_CHAOS_FAULT_H_
#define SKEIN_TESTS_CHAOS_FAULT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/sim/dice.h"

namespace skein::chaos {

enum class FaultKind : uint8_t {
  kQueuePairError,   // one fails
  kDeath,            // a process is gone, silently, and starts anew after a while
  kPartition,        // nothing passes between two of them for a while
  kPause,            // a process does nothing for a while: a slow reader, a full ring
  kLateCompletions,  // a queue pair's completions come late, and after those of others
  kLostCompletions,  // they never come; in the end the queue pair fails
  kNoMemory,         // a few of the next allocations are refused
  kNoQueuePair,      // the same of queue pairs
  kNoQueue,          // of completion queues and shared receive queues
  kOverflow,         // the completion queues made next are far too short
  kClockJump,        // the clock that policies read goes forwards or back
  kClose,            // somebody ends what others use
};
inline constexpr size_t kFaultKinds = 12;
absl::string_view FaultName(FaultKind kind);

struct Fault {
  absl::Duration at;
  FaultKind kind = FaultKind::kPause;
  size_t process = 0;
  size_t peer = 0;      // another one
  uint64_t number = 0;  // chance of its own: which queue pair, how many
  absl::Duration lasts;
};
std::string ToString(const Fault& fault);

// In the order of time.
using Plan = std::vector<Fault>;
std::string ToString(const Plan& plan);

// Of `processes` processes, within `length`. Every eighth has no faults at all: then nothing may fail.
Plan DrawPlan(Dice& dice, size_t processes, absl::Duration length);

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_FAULT_H_
