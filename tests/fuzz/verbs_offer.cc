// Any bytes with a right checksum are exactly the encoding of an address that a device may be given, or a reason.
#include <zlib.h>

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
  for (auto layer : {fabric::verbs::LinkLayer::kEthernet, fabric::verbs::LinkLayer::kInfiniband}) {
    offer.address.link_layer = layer;
    offer.address.lid = 1;
    std::string bytes = fabric::verbs::EncodeOffer(fabric::verbs::OfferKind::kOffer, offer);
    bytes.resize(bytes.size() - sizeof(uint32_t));
    seeds.push_back(std::move(bytes));
  }
  return seeds;
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  std::string bytes(skein::fuzz::Text(data, size));
  const auto checksum = static_cast<uint32_t>(crc32(0, data, static_cast<unsigned>(size)));
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  const absl::StatusOr<skein::fabric::verbs::Offer> offer =
      skein::fabric::verbs::DecodeOffer(skein::fabric::verbs::OfferKind::kOffer, bytes);
  if (!offer.ok()) {
    const skein::FallbackCode code = skein::FallbackOf(offer.status()).code;
    Require(code == skein::FallbackCode::kProtocol || code == skein::FallbackCode::kVersion, "a reason");
    return 0;
  }
  const skein::fabric::verbs::Address& address = offer->address;
  Require(address.mtu >= 1 && address.mtu <= 5, "an MTU there is");
  Require(address.number >= 2 && address.number < 1u << 24 && address.sequence < 1u << 24, "24 bits");
  Require(address.gid[0] != 0xff, "one receiver");
  Require(skein::fabric::verbs::EncodeOffer(skein::fabric::verbs::OfferKind::kOffer, *offer) == bytes,
          "nothing is lost");
  return 0;
}
