// Any bytes are a call's message, whose fields are what they may be, or DATA_LOSS.
#include "core/rpc/message.h"
#include "core/wire/bytes.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds(3);
  wire::Put(seeds[0], rpc::RequestHeader(3, 7));
  seeds[0] += "a request";
  wire::Put(seeds[1], rpc::ReplyHeader(3));
  wire::Put(seeds[2], rpc::ErrorHeader(3, absl::NotFoundError("")));
  seeds[2] += "no such thing";
  return seeds;
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const absl::StatusOr<skein::rpc::Message> message = skein::rpc::Decode(bytes);
  if (!message.ok()) {
    Require(absl::IsDataLoss(message.status()), "a protocol error is data loss");
    return 0;
  }
  Require(message->body.size() + sizeof(message->header) == size, "all bytes are of a field");
  if (message->header.kind != skein::rpc::MessageKind::kError) return 0;
  const absl::Status error = skein::rpc::ErrorFrom(message->header.subject, message->body);
  Require(!error.ok() && error.code() <= absl::StatusCode::kUnauthenticated, "an error is one");
  for (const char c : error.message()) Require(c >= ' ' && c <= '~', "its text is printable");
  return 0;
}
