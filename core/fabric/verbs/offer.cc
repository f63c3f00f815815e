#include "core/fabric/verbs/offer.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/fallback.h"
#include "core/wire/bytes.h"

namespace skein::fabric::verbs {
namespace {

constexpr uint32_t k24Bits = (1u << 24) - 1;
constexpr uint16_t kFirstMulticastLid = 0xc000;
constexpr uint8_t kMtu4096 = 5;

uint32_t Checksum(absl::string_view bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<unsigned>(bytes.size())));
}

absl::Status Malformed(absl::string_view what) {
  return FallbackError(FallbackCode::kProtocol, absl::StrCat("an RDMA address with ", what));
}

absl::Status Check(const Address& address) {
  if (address.link_layer != LinkLayer::kInfiniband && address.link_layer != LinkLayer::kEthernet) {
    return Malformed("an unknown link layer");
  }
  if (address.mtu < 1 || address.mtu > kMtu4096) return Malformed("an impossible MTU");
  // 0 and 1 are the queue pairs of the subnet's and the port's own management.
  if (address.number < 2 || address.number > k24Bits) return Malformed("an impossible queue pair number");
  if (address.sequence > k24Bits) return Malformed("an impossible packet sequence number");
  if (address.link_layer == LinkLayer::kInfiniband && (address.lid == 0 || address.lid >= kFirstMulticastLid)) {
    return Malformed("an impossible LID");
  }
  const bool empty = std::all_of(address.gid.begin(), address.gid.end(), [](uint8_t byte) { return byte == 0; });
  if (empty || address.gid[0] == 0xff) return Malformed("a GID that is none, or multicast");
  return absl::OkStatus();
}

}  // namespace

std::string EncodeOffer(OfferKind kind, const Offer& offer) {
  std::string out;
  wire::Put(out, kOfferVersion);
  wire::Put(out, kind);
  wire::Put(out, offer.address.link_layer);
  wire::Put(out, offer.address.mtu);
  wire::Put(out, offer.address.reads);
  wire::Put(out, uint8_t{0});
  wire::Put(out, offer.address.lid);
  wire::Put(out, offer.address.number);
  wire::Put(out, offer.address.sequence);
  wire::Put(out, offer.address.gid);
  wire::Put(out, offer.token);
  wire::Put(out, Checksum(out));
  return out;
}

absl::StatusOr<Offer> DecodeOffer(OfferKind kind, absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  if (const auto version = reader.Take<uint8_t>(); reader.ok() && version != kOfferVersion) {
    return FallbackError(FallbackCode::kVersion, absl::StrCat("an RDMA address of version ", version));
  }
  Offer offer;
  const auto found = reader.Take<OfferKind>();
  offer.address.link_layer = reader.Take<LinkLayer>();
  offer.address.mtu = reader.Take<uint8_t>();
  offer.address.reads = reader.Take<uint8_t>();
  const auto zero = reader.Take<uint8_t>();
  offer.address.lid = reader.Take<uint16_t>();
  offer.address.number = reader.Take<uint32_t>();
  offer.address.sequence = reader.Take<uint32_t>();
  offer.address.gid = reader.Take<Gid>();
  offer.token = reader.Take<uint64_t>();
  const auto checksum = reader.Take<uint32_t>();
  if (!reader.done()) return Malformed(absl::StrCat(bytes.size(), " bytes"));
  if (checksum != Checksum(bytes.substr(0, bytes.size() - sizeof(checksum)))) return Malformed("a wrong checksum");
  if (found != kind || zero != 0) return Malformed("fields of another message");
  if (absl::Status status = Check(offer.address); !status.ok()) return status;
  return offer;
}

absl::Status CheckComesFrom(const sockaddr_storage& peer, absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  reader.Take<uint8_t>();  // version
  const absl::StatusOr<Offer> offer = DecodeOffer(reader.Take<OfferKind>(), bytes);
  if (!offer.ok()) return offer.status();
  if (offer->address.link_layer == LinkLayer::kInfiniband) return absl::OkStatus();
  const absl::StatusOr<Gid> expected = GidOf(peer);
  if (expected.ok() && offer->address.gid == *expected) return absl::OkStatus();
  return FallbackError(FallbackCode::kNoRoute, absl::StrCat("the RDMA address ", ToString(offer->address.gid),
                                                            " is not that of the connection, ",
                                                            expected.ok() ? ToString(*expected) : "which has none",
                                                            "; naming the device (rdma_device) allows it"));
}

}  // namespace skein::fabric::verbs
