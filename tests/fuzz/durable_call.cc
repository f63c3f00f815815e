// Any bytes are a durable call of gRPC, or its end, or INVALID_ARGUMENT; what is one is written again as it was read.
#include "grpc_transport/durable/durable_call.h"

#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  using grpc_transport::Encode;
  return {Encode(grpc_transport::LoggedCall{.method = "/a.B/C", .metadata = {{"k", "v"}, {"l", ""}}, .message = "m"}),
          Encode(grpc_transport::LoggedEnd{
              .method = "/a.B/C", .status = grpc::Status::OK, .trailing = {{"k", "v"}}, .message = "m"}),
          Encode(grpc_transport::LoggedEnd{.method = "/a.B/C",
                                           .status = {grpc::StatusCode::NOT_FOUND, "none", "details"}})};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  const auto call = skein::grpc_transport::DecodeCall(bytes);
  if (!call.ok()) Require(absl::IsInvalidArgument(call.status()), "a protocol error is an invalid argument");
  if (call.ok()) Require(!call->method.empty() && Encode(*call) == bytes, "a call is written as it was read");
  const auto end = skein::grpc_transport::DecodeEnd(bytes);
  if (!end.ok()) Require(absl::IsInvalidArgument(end.status()), "a protocol error is an invalid argument");
  if (end.ok()) Require(Encode(*end) == bytes, "an end is written as it was read");
  return 0;
}
