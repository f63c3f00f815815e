// Any bytes are exactly the encoding of an offer, or a reason to fall back.
#include <algorithm>

#include "core/base/fallback.h"
#include "core/fabric/shm/offer.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  fabric::shm::Offer offer;
  offer.place = {{'b', 'o', 'o', 't'}, 4026531840, 4026531836, 1000};
  offer.meeting_point.fill('a');
  offer.token.fill('t');
  return {fabric::shm::EncodeOffer(offer)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  const absl::StatusOr<skein::fabric::shm::Offer> offer = skein::fabric::shm::DecodeOffer(bytes);
  if (!offer.ok()) {
    const skein::FallbackCode code = skein::FallbackOf(offer.status()).code;
    Require(code == skein::FallbackCode::kProtocol || code == skein::FallbackCode::kVersion, "a reason");
    return 0;
  }
  Require(skein::fabric::shm::EncodeOffer(*offer) == bytes, "nothing is lost");
  // It becomes part of a socket's name.
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  Require(std::all_of(offer->meeting_point.begin(), offer->meeting_point.end(), is_hex), "hexadecimal");
  return 0;
}
