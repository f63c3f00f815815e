// The HTTP/2 beginning in which offers without TLS hide.
#include "tests/fuzz/offer_parser.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  return {grpc_transport::HideInHttp2("an offer"), grpc_transport::HideInHttp2(std::string(256, 'o')),
          grpc_transport::HideInHttp2(std::string(257, 'o')),
          grpc_transport::HideInHttp2(std::string(61, 'o')) + "something",
          std::string(grpc_transport::kHttp2Preface) + std::string("\0\0\0\4\0\0\0\0\0", 9)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::grpc_transport::Beginning;
  constexpr size_t kMaxPayload = 256;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  skein::fuzz::CheckParser(skein::grpc_transport::ParseHttp2, bytes, kMaxPayload);
  const skein::grpc_transport::Parsed parsed = skein::grpc_transport::ParseHttp2(bytes, kMaxPayload);
  if (parsed.beginning == Beginning::kWhole) {
    const std::string hidden = skein::grpc_transport::HideInHttp2(parsed.payload);
    const skein::grpc_transport::Parsed again = skein::grpc_transport::ParseHttp2(hidden, kMaxPayload);
    skein::fuzz::Require(again.payload == parsed.payload && again.size == hidden.size(),
                         "what was parsed can be hidden");
  }
  // The preface and 65 settings, each in a frame of its own.
  constexpr size_t kLongest = 24 + (1 + kMaxPayload / 4) * (9 + 6);
  skein::fuzz::Require(parsed.beginning != Beginning::kUndecided || size < kLongest, "decided in the end");
  return 0;
}
