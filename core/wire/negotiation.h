// The two messages by which a place on a link is asked for and given; FORMAT.md, "Negotiation".
#ifndef SKEIN_CORE_WIRE_NEGOTIATION_H_
#define SKEIN_CORE_WIRE_NEGOTIATION_H_

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/fallback.h"
#include "core/wire/ring_descriptor.h"

namespace skein::wire {

inline constexpr uint8_t kProtocolVersion = 1;
// Has features as well. Only an offer that has some names it, and only a yes that has some is of it.
inline constexpr uint8_t kVersionWithFeatures = 2;
using ProcessId = std::array<char, 16>;
// Of a TCP connection: IPv6 address (IPv4's, mapped) and port, both big-endian. Zeros: not known, or of another kind.
using ConnectionEnd = std::array<char, 18>;

// What is to be at both ends of the place.
enum class Service : uint8_t { kStream = 1, kRpc = 2 };

// One way in which the peer might be reached.
struct OfferedFabric {
  std::string kind;        // "shm", "rdma"
  std::string queue_pair;  // its Offer()
};

inline constexpr size_t kMaxOfferedFabrics = 4;

struct Offer {
  uint8_t lowest_version = kProtocolVersion;
  uint8_t highest_version = kProtocolVersion;
  ProcessId process = {};
  Service service = Service::kStream;
  bool new_link_only = false;          // the offering end has left or lost one, perhaps that which would be named
  std::vector<OfferedFabric> fabrics;  // best first, 1 to kMaxOfferedFabrics
  ConnectionEnd from = {};             // of the connection that carries this, as who offers sees it
  uint8_t features = 0;                // bits that the adapter above gives a meaning; where the version has them
};

struct NewLink {
  RingDescriptor ring;
  std::string queue_pair;
};

struct Yes {
  uint8_t fabric = 0;    // index into the offer's
  Fallback passed_over;  // why none before that one; kNone if there was none
  uint32_t stream = 0;
  uint64_t window = 0;
  ProcessId process = {};
  uint64_t link = 0;
  bool is_new = false;
  NewLink new_link;      // when is_new
  uint8_t features = 0;  // of the offered ones, those that are used from now on
};

using Answer = std::variant<Yes, Fallback>;

std::string EncodeOffer(const Offer& offer);
std::string EncodeAnswer(const Answer& answer);
// FallbackError: kProtocol for malformed bytes, kVersion when ours is not among the offered.
absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes);
absl::StatusOr<Answer> DecodeAnswer(absl::string_view bytes);

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_NEGOTIATION_H_
