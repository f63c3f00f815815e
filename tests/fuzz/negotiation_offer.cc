// Any bytes are an offer that can be encoded again, or a reason to fall back.
#include "core/wire/negotiation.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/wire_samples.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  wire::Offer other = wire::SampleOffer();
  other.highest_version = 9;
  other.fabrics = {{"", std::string(200, 'q')}};
  return {wire::EncodeOffer(wire::SampleOffer()), wire::EncodeOffer(other)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::StatusOr<skein::wire::Offer> offer = skein::wire::DecodeOffer(skein::fuzz::Text(data, size));
  if (!offer.ok()) {
    const skein::FallbackCode code = skein::FallbackOf(offer.status()).code;
    Require(code == skein::FallbackCode::kProtocol || code == skein::FallbackCode::kVersion, "a reason");
    return 0;
  }
  const std::string again = skein::wire::EncodeOffer(*offer);
  const bool may_hold_more = offer->highest_version > skein::wire::kVersionWithFeatures;
  Require(may_hold_more ? again.size() <= size : again.size() == size,
          "all bytes are of a field, or for later versions");
  const absl::StatusOr<skein::wire::Offer> same = skein::wire::DecodeOffer(again);
  Require(same.ok() && same->fabrics.size() == offer->fabrics.size() && same->process == offer->process,
          "what was decoded can be encoded");
  for (size_t i = 0; i < offer->fabrics.size(); ++i) {
    Require(
        same->fabrics[i].kind == offer->fabrics[i].kind && same->fabrics[i].queue_pair == offer->fabrics[i].queue_pair,
        "and is the same");
  }
  return 0;
}
