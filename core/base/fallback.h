// Why a connection does not use a better path. One list for negotiation answers, logs, metrics and Paths().
#ifndef SKEIN_CORE_BASE_FALLBACK_H_
#define SKEIN_CORE_BASE_FALLBACK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein {

// Values travel in negotiation answers: never renumber.
enum class FallbackCode : uint8_t {
  kNone = 0,          // the best path both ends know is in use
  kModeOff = 1,       // this end's mode is off
  kPeerNotSkein = 2,  // the peer answered as an ordinary server
  kPeerModeOff = 3,
  kVersion = 4,        // no common protocol version
  kDifferentHost = 5,  // said by older peers alone, as is 7
  kDifferentNetworkNamespace = 6,
  kDifferentPidNamespace = 7,
  kDifferentUser = 8,
  kRendezvous = 9,      // the UNIX socket meeting failed; detail says how
  kResources = 10,      // memory, descriptors or a limit; detail names it
  kProxy = 11,          // behind a proxy, of HTTP CONNECT or of TCP connections
  kNegativeCache = 12,  // this peer was found plain a short while ago
  kTimeout = 13,        // no answer in time: of the peer, or of a rehearsal within a process
  kPollingEngine = 14,  // a gRPC polling engine we do not know
  kProtocol = 15,       // malformed negotiation
  kRemotePeer = 16,     // the address of the connection's other end is none of this host's
  kNoRdma = 17,         // this end has no RDMA device, port or address for the peer; detail says which
  kNoRoute = 18,        // both have RDMA, but no way to each other
  kSettling = 19,       // RDMA to this peer failed a short while ago
  kFabricOff = 20,      // an option; detail names it
  kNotPermitted = 21,   // a system call was refused; detail names it
  kNoOffer = 22,        // the peer, a client, made none: it has no Skein, or nothing to offer
};

struct Fallback {
  FallbackCode code = FallbackCode::kNone;
  std::string detail;  // human words, bounded to kMaxDetailBytes when from a peer

  static constexpr size_t kMaxDetailBytes = 256;
};

// A row of the one table of reasons.
struct FallbackReason {
  FallbackCode code;
  absl::string_view name;  // for logs and metrics
  absl::string_view meaning;
  absl::string_view mend;  // what an operator can do; Markdown
};
// All codes, in their order. The first is kNone, without meaning or mend.
absl::Span<const FallbackReason> FallbackReasons();
// docs/reasons.md.
std::string ReasonsMarkdown();

// "different network namespace", for logs; unknown codes give "unknown reason N".
std::string FallbackCodeName(FallbackCode code);
// "different network namespace (detail)"
std::string ToString(const Fallback& fallback);

// Several reasons as one, in the order in which ways were tried: the last one's code, for the earlier ways were closed;
// their reasons before its own detail. kNone if there are none.
Fallback Join(absl::Span<const Fallback> reasons);

// Carries a reason through layers that speak absl::Status: FAILED_PRECONDITION with the code as payload.
absl::Status FallbackError(FallbackCode code, absl::string_view detail);
absl::Status FallbackError(const Fallback& why);
// The reason a status carries; a status without one gives kNotPermitted (PERMISSION_DENIED, UNIMPLEMENTED: the
// kernel refuses a call) or kResources, with its message. Not for OK.
Fallback FallbackOf(const absl::Status& status);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_FALLBACK_H_
