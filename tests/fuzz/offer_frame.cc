// The frame in which answers, and offers under TLS, travel.
#include "tests/fuzz/offer_parser.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  return {grpc_transport::Frame("an answer"), grpc_transport::Frame(std::string(1024, 'a')),
          grpc_transport::Frame(std::string(1025, 'a')), grpc_transport::Frame("followed by") + "something"};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::grpc_transport::Beginning;
  constexpr size_t kMaxPayload = 1024;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  skein::fuzz::CheckParser(skein::grpc_transport::ParseFrame, bytes, kMaxPayload);
  const skein::grpc_transport::Parsed parsed = skein::grpc_transport::ParseFrame(bytes, kMaxPayload);
  if (parsed.beginning == Beginning::kWhole) {
    skein::fuzz::Require(skein::grpc_transport::Frame(parsed.payload) == bytes.substr(0, parsed.size), "one form only");
  }
  skein::fuzz::Require(parsed.beginning != Beginning::kUndecided || size < skein::grpc_transport::kMaxFrameBytes,
                       "decided by the bytes told");
  return 0;
}
