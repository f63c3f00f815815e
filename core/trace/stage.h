// The moments of a call's way, in the order in which it passes them.
#ifndef SKEIN_CORE_TRACE_STAGE_H_
#define SKEIN_CORE_TRACE_STAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace skein::trace {

// A message on its own has those from kQueued to kDispatched.
enum class Stage : uint8_t {
  kSubmitted,     // the program's call came to the framework's channel; of Thrift, to the socket
  kQueued,        // its bytes were handed to the stream
  kLed,           // a leader of the combining queue took them
  kPosted,        // the WRITE that carries them was posted
  kArrived,       // the receiver's poll saw the message
  kDispatched,    // its bytes were handed to the server's framework
  kHandlerStart,  // the service's own code began
  kHandlerEnd,    // and returned
  kReplyQueued,   // the reply's bytes were handed to the stream
  kReplyPosted,   // the WRITE that carries them was posted
  kReplyArrived,  // the caller's poll saw the reply
  kDelivered,     // the caller's framework has it
  kReleased,      // the program has let go of the call: a blocking stub's caller has its reply
  kPersisted,     // durable calls: the caller heard that the request is persistent; beside the others, in no order
};
inline constexpr size_t kStages = 14;

// Nanoseconds of CLOCK_MONOTONIC by stage; 0: not known.
using StageTimes = std::array<uint64_t, kStages>;

inline uint64_t& At(StageTimes& times, Stage stage) { return times[static_cast<size_t>(stage)]; }
inline uint64_t At(const StageTimes& times, Stage stage) { return times[static_cast<size_t>(stage)]; }

// "handler start", for people.
absl::string_view StageName(Stage stage);

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_STAGE_H_
