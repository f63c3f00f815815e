// What the two ends of a connection tell each other, over whatever channel they negotiate on. Little-endian:
//
//   u8 version | u8 kind (1 offer, 2 answer) | u8 link layer | u8 mtu | u8 reads | u8 0 | u16 lid | u32 qpn | u32 psn
//   | gid (16) | u64 token | u32 crc32 of all before
//
// The answer repeats the offer's token: it is good for that one offer. The version is also that of what the queue pair
// carries. 2: rings with control lines (core/wire/FORMAT.md). An end of version 1 answers version 2 with kVersion, and
// is answered so.
#ifndef SKEIN_CORE_FABRIC_VERBS_OFFER_H_
#define SKEIN_CORE_FABRIC_VERBS_OFFER_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/fabric/verbs/gid.h"

namespace skein::fabric::verbs {

enum class LinkLayer : uint8_t { kInfiniband = 1, kEthernet = 2 };
enum class OfferKind : uint8_t { kOffer = 1, kAnswer = 2 };

// One end, as the other must know it.
struct Address {
  LinkLayer link_layer = LinkLayer::kEthernet;
  uint8_t mtu = 0;        // ibv_mtu: 1 is 256 bytes, 5 is 4096
  uint8_t reads = 1;      // READs and atomics this end serves at once
  uint16_t lid = 0;       // InfiniBand only
  uint32_t number = 0;    // of the queue pair; 24 bits
  uint32_t sequence = 0;  // of the first packet it sends; 24 bits
  Gid gid = {};

  friend bool operator==(const Address&, const Address&) = default;
};

struct Offer {
  Address address;
  uint64_t token = 0;
};

inline constexpr uint8_t kOfferVersion = 2;

std::string EncodeOffer(OfferKind kind, const Offer& offer);
// Every field is checked. FallbackError: kVersion, kProtocol.
absl::StatusOr<Offer> DecodeOffer(OfferKind kind, absl::string_view bytes);

// Judges an offer or an answer that came along with a TCP connection from `peer`, before anything is sent to its GID:
// on Ethernet that is an IP address, and must be the peer's. FallbackError: kNoRoute, and as above.
absl::Status CheckComesFrom(const sockaddr_storage& peer, absl::string_view bytes);

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_OFFER_H_
