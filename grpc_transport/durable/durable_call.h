// What a durable call's bytes are: a unary call as it is logged and replayed, and how it ended as it is kept.
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_CALL_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::grpc_transport {

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct LoggedCall {
  std::string method;  // "/package.Service/Method"
  Metadata metadata;   // that goes along
  std::string message;
};
struct LoggedEnd {
  std::string method = {};  // the call's
  grpc::Status status;
  Metadata trailing = {};
  std::string message = {};  // if the status is OK
};

std::string Encode(const LoggedCall& call);
std::string Encode(const LoggedEnd& end);
// Whether gRPC would send them; and whether they say nothing that only gRPC or a server of durable calls may say of a
// call.
absl::Status CheckMetadata(const Metadata& metadata);
bool IsReserved(absl::string_view name);

// INVALID_ARGUMENT for what no honest peer sends.
absl::StatusOr<LoggedCall> DecodeCall(absl::string_view bytes);
absl::StatusOr<LoggedEnd> DecodeEnd(absl::string_view bytes);

grpc::ByteBuffer BufferOf(absl::string_view bytes);
std::string BytesOf(const grpc::ByteBuffer& buffer);

grpc::Status GrpcStatusOf(const absl::Status& status);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_CALL_H_
