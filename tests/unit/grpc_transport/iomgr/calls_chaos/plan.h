// What one call does at both of its ends. All of it follows from the call's number: each end works it out by itself,
// and knows what it has to receive.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_PLAN_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/sim/dice.h"

namespace skein::calls_chaos {

using chaos::Dice;

// For whatever is certain to come, and for calls without a deadline by their plan: without it a test that fails would
// hang.
inline constexpr absl::Duration kPatience = absl::Seconds(20);

enum class Kind : uint8_t { kUnary, kUp, kDown, kBoth };

// Programs of a call, each with a thread of its own.
enum class Part : uint8_t { kNobody, kWriter, kReader, kHandler };

struct Plan {
  uint64_t call = 0;
  Kind kind = Kind::kUnary;
  std::vector<size_t> requests;  // the bytes of each
  std::vector<size_t> replies;   // likewise
  size_t read = 0;               // so many requests the handler reads; if those are all, the half-close as well
  std::vector<bool> turns;       // of kBoth: the handler's reads (true) and writes, in order
  bool fails = false;            // the handler ends the call with ABORTED instead of OK
  absl::Duration timeout = absl::InfiniteDuration();
  Part canceller = Part::kNobody;
  size_t cancel_at = 0;  // the canceller's step
  uint64_t pauses = 0;   // a part pauses before one step in so many

  size_t padding = 0;           // bytes of metadata besides
  bool corked = false;          // initial metadata goes with the first request
  bool hints = false;           // some messages wait for the next one
  bool joins_end = false;       // the last message and the end behind it go together
  bool compresses = false;      // each end does
  bool initial_early = false;   // the handler sends initial metadata before it does anything else
  bool awaits_initial = false;  // the reader waits for that before it reads
};

// Calls with odd numbers are made by channels that make a call anew by themselves, where the server has not looked at
// it. gRPC 1.51 spoils some of those, over TCP as well: it compresses a compressed message again, and of a call that
// streams its requests it loses messages, or the end. Such calls are not planned.
inline bool MayBeRetried(uint64_t call) { return call % 2 == 1; }

Plan PlanOf(uint64_t call);
// For a person who reads of a failure.
std::string Describe(const Plan& plan);

// The call's index-th request, or reply, of `size` bytes. Bytes of another message, or of another place in this one,
// are not the same, but for very few of them.
std::string Message(uint64_t call, bool is_reply, size_t index, size_t size);

}  // namespace skein::calls_chaos

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_PLAN_H_
