#include "grpc_transport/durable/durable_call.h"

#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpcpp/support/slice.h>
#include <skein/grpc_durable.h>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/wire/bytes.h"

namespace skein::grpc_transport {
namespace {

constexpr uint32_t kMostMetadata = 1024;

void PutString(std::string& out, absl::string_view text) {
  wire::Put(out, static_cast<uint32_t>(text.size()));
  absl::StrAppend(&out, text);
}
std::string TakeString(wire::FieldReader& reader) { return std::string(reader.TakeBytes(reader.Take<uint32_t>())); }

void PutMetadata(std::string& out, const Metadata& metadata) {
  wire::Put(out, static_cast<uint32_t>(metadata.size()));
  for (const auto& [name, value] : metadata) {
    PutString(out, name);
    PutString(out, value);
  }
}
Metadata TakeMetadata(wire::FieldReader& reader) {
  Metadata metadata;
  const auto count = reader.Take<uint32_t>();
  for (uint32_t i = 0; i < count && i < kMostMetadata && reader.ok(); ++i) {
    std::string name = TakeString(reader);
    metadata.emplace_back(std::move(name), TakeString(reader));
  }
  return metadata;
}

}  // namespace

std::string Encode(const LoggedCall& call) {
  std::string out;
  PutString(out, call.method);
  PutMetadata(out, call.metadata);
  PutString(out, call.message);
  return out;
}

std::string Encode(const LoggedEnd& end) {
  std::string out;
  PutString(out, end.method);
  wire::Put(out, static_cast<uint32_t>(end.status.error_code()));
  PutString(out, end.status.error_message());
  PutString(out, end.status.error_details());
  PutMetadata(out, end.trailing);
  PutString(out, end.message);
  return out;
}

bool IsReserved(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {"te", "content-type", "user-agent", "host"};
  return name.empty() || name[0] == ':' || absl::StartsWith(name, "grpc-") || name == kDurableClient ||
         name == kDurableSequence || absl::c_linear_search(kNames, name);
}

// gRPC would end the process for some of it.
absl::Status CheckMetadata(const Metadata& metadata) {
  for (const auto& [name, value] : metadata) {
    const grpc_slice key = grpc_slice_from_static_buffer(name.data(), name.size());
    const grpc_slice content = grpc_slice_from_static_buffer(value.data(), value.size());
    if (grpc_header_key_is_legal(key) == 0 || IsReserved(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("durable calls carry no metadata named \"", absl::CHexEscape(name), "\""));
    }
    if (grpc_is_binary_header(key) == 0 && grpc_header_nonbin_value_is_legal(content) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata ", name, " has bytes that only names that end with -bin may have"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LoggedCall> DecodeCall(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  LoggedCall call;
  call.method = TakeString(reader);
  call.metadata = TakeMetadata(reader);
  call.message = TakeString(reader);
  const bool printable =
      absl::c_all_of(call.method, [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
  if (!reader.done() || call.method.empty() || call.method[0] != '/' || !printable)
    return absl::InvalidArgumentError("a malformed durable call");
  if (absl::Status legal = CheckMetadata(call.metadata); !legal.ok()) return legal;
  return call;
}

absl::StatusOr<LoggedEnd> DecodeEnd(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  LoggedEnd end;
  end.method = TakeString(reader);
  const auto code = reader.Take<uint32_t>();
  const std::string text = TakeString(reader);
  const std::string details = TakeString(reader);
  end.trailing = TakeMetadata(reader);
  end.message = TakeString(reader);
  if (!reader.done() || code > GRPC_STATUS_UNAUTHENTICATED)
    return absl::InvalidArgumentError("a malformed end of a durable call");
  end.status = grpc::Status(static_cast<grpc::StatusCode>(code), text, details);
  return end;
}

grpc::ByteBuffer BufferOf(absl::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

grpc::Status GrpcStatusOf(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

}  // namespace skein::grpc_transport
