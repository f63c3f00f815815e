// The frame in which answers, and offers under TLS, travel.
#include "tests/fuzz/offer_parser.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  return {connect::Frame("an answer"), connect::Frame(std::string(1024, 'a')), connect::Frame(std::string(1025, 'a')),
          connect::Frame("followed by") + "something"};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::connect::Beginning;
  constexpr size_t kMaxPayload = 1024;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  skein::fuzz::CheckParser(skein::connect::ParseFrame, bytes, kMaxPayload);
  const skein::connect::Parsed parsed = skein::connect::ParseFrame(bytes, kMaxPayload);
  if (parsed.beginning == Beginning::kWhole) {
    skein::fuzz::Require(skein::connect::Frame(parsed.payload) == bytes.substr(0, parsed.size), "one form only");
  }
  skein::fuzz::Require(parsed.beginning != Beginning::kUndecided || size < skein::connect::kMaxFrameBytes,
                       "decided by the bytes told");
  return 0;
}
