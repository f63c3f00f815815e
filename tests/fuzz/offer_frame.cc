// The frame in which answers, and offers under TLS, travel.
#include "tests/fuzz/offer_parser.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  return {stream::Frame("an answer"), stream::Frame(std::string(1024, 'a')), stream::Frame(std::string(1025, 'a')),
          stream::Frame("followed by") + "something"};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::stream::Beginning;
  constexpr size_t kMaxPayload = 1024;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  skein::fuzz::CheckParser(skein::stream::ParseFrame, bytes, kMaxPayload);
  const skein::stream::Parsed parsed = skein::stream::ParseFrame(bytes, kMaxPayload);
  if (parsed.beginning == Beginning::kWhole) {
    skein::fuzz::Require(skein::stream::Frame(parsed.payload) == bytes.substr(0, parsed.size), "one form only");
  }
  skein::fuzz::Require(parsed.beginning != Beginning::kUndecided || size < skein::stream::kMaxFrameBytes,
                       "decided by the bytes told");
  return 0;
}
