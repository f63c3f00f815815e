// Any bytes with a right checksum are exactly the encoding of an address that a device may be given, or a reason.
#include <zlib.h>

#include <utility>

#include "core/base/fallback.h"
#include "core/fabric/verbs/offer.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

// Without their checksums: those of mutants would all be wrong, and the fields never be looked at.
std::vector<std::string> Seeds() {
  fabric::verbs::Offer offer;
  offer.address.mtu = 3;
  offer.address.number = 17;
  offer.address.gid = {0xfd, 9};
  offer.token = 7;
  std::vector<std::string> seeds;
  using fabric::verbs::LinkLayer;
  using fabric::verbs::OfferKind;
  for (const auto& [layer, kind] :
       {std::pair(LinkLayer::kEthernet, OfferKind::kOffer), std::pair(LinkLayer::kInfiniband, OfferKind::kOffer),
        std::pair(LinkLayer::kEthernet, OfferKind::kAnswer)}) {
    offer.address.link_layer = layer;
    offer.address.lid = 1;
    std::string bytes = fabric::verbs::EncodeOffer(kind, offer);
    bytes.resize(bytes.size() - sizeof(uint32_t));
    seeds.push_back(std::move(bytes));
  }
  return seeds;
}

namespace {

void Check(fabric::verbs::OfferKind kind, absl::string_view bytes) {
  const absl::StatusOr<fabric::verbs::Offer> offer = fabric::verbs::DecodeOffer(kind, bytes);
  if (!offer.ok()) {
    const FallbackCode code = FallbackOf(offer.status()).code;
    Require(code == FallbackCode::kProtocol || code == FallbackCode::kVersion, "a reason");
    return;
  }
  const fabric::verbs::Address& address = offer->address;
  Require(address.mtu >= 1 && address.mtu <= 5, "an MTU there is");
  Require(address.number >= 2 && address.number < 1u << 24 && address.sequence < 1u << 24, "24 bits");
  Require(address.gid[0] != 0xff, "one receiver");
  Require(fabric::verbs::EncodeOffer(kind, *offer) == bytes, "nothing is lost");
}

}  // namespace
}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fabric::verbs::OfferKind;
  std::string bytes(skein::fuzz::Text(data, size));
  const auto checksum = static_cast<uint32_t>(crc32(0, data, static_cast<unsigned>(size)));
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  for (const OfferKind kind : {OfferKind::kOffer, OfferKind::kAnswer}) skein::fuzz::Check(kind, bytes);
  return 0;
}
