// Any bytes are exactly the encoding of an offer, or a reason to fall back.
#include <string>

#include "core/base/fallback.h"
#include "core/channel/shm/offer.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  channel::shm::Offer offer;
  offer.meeting_point.fill('m');
  offer.token.fill('t');
  return {channel::shm::EncodeOffer(offer)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  const absl::StatusOr<skein::channel::shm::Offer> offer = skein::channel::shm::DecodeOffer(bytes);
  if (!offer.ok()) {
    const skein::FallbackCode code = skein::FallbackOf(offer.status()).code;
    Require(code == skein::FallbackCode::kProtocol || code == skein::FallbackCode::kVersion, "a reason");
    return 0;
  }
  Require(skein::channel::shm::EncodeOffer(*offer) == bytes, "nothing is lost");
  const std::string name = skein::channel::shm::SocketName(offer->meeting_point);
  Require(name.size() == 6 + 32 && name.find_first_not_of("skein-0123456789abcdef") == std::string::npos,
          "a name of fixed length, without zeros");
  return 0;
}
