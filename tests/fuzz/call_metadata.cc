// Any bytes are metadata of a call or are refused; what is metadata encodes again, and decodes to the same.
#include <cstdint>
#include <string>
#include <vector>

#include "grpc_transport/iomgr/calls/metadata.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {
namespace {

using grpc_core::Slice;
using grpc_core::Timestamp;

// Never destroyed: gRPC's threads may use it while the process ends.
struct Process {
  Process() { grpc_init(); }
  grpc_core::MemoryAllocator allocator =
      grpc_core::ResourceQuota::Default()->memory_quota()->CreateMemoryAllocator("fuzz");
};

class Metadata {
 public:
  Metadata() : arena_(grpc_core::MakeScopedArena(1024, &process().allocator)), batch_(arena_.get()) {}

  bool Decode(absl::string_view bytes) {
    const Slice slice = Slice::FromCopiedBuffer(bytes.data(), bytes.size());
    return grpc_transport::DecodeMetadata(slice.c_slice(), batch_);
  }
  std::string Encode() const {
    grpc_transport::BytesBuilder bytes;
    grpc_transport::EncodeMetadata(batch_, bytes);
    return {bytes.data(), bytes.size()};
  }
  grpc_metadata_batch& operator*() { return batch_; }
  grpc_metadata_batch* operator->() { return &batch_; }

 private:
  static Process& process() {
    static Process& process = *new Process;
    return process;
  }

  grpc_core::ScopedArenaPtr arena_;
  grpc_metadata_batch batch_;
};

// What gRPC does with metadata that has come.
void Use(Metadata& metadata) {
  const auto status = metadata->get(grpc_core::GrpcStatusMetadata());
  Require(!status.has_value() || (*status >= 0 && *status <= GRPC_STATUS_UNAUTHENTICATED), "a status that gRPC knows");
  const auto deadline = metadata->get(grpc_core::GrpcTimeoutMetadata());
  Require(!deadline.has_value() || (*deadline >= Timestamp::Now() && *deadline < Timestamp::InfFuture()), "a deadline");
  metadata->DebugString();
  metadata->TransportSize();
}

std::string Named(absl::string_view name, absl::string_view value) {
  Metadata metadata;
  metadata->Append(name, Slice::FromCopiedBuffer(value.data(), value.size()), [](absl::string_view, const Slice&) {});
  return metadata.Encode();
}

}  // namespace

std::vector<std::string> Seeds() {
  const grpc_core::ExecCtx exec_ctx;
  Metadata request;
  request->Set(grpc_core::HttpPathMetadata(), Slice::FromCopiedString("/package.Service/Method"));
  request->Set(grpc_core::HttpAuthorityMetadata(), Slice::FromCopiedString("host:443"));
  request->Set(grpc_core::UserAgentMetadata(), Slice::FromCopiedString("agent/1.0"));
  request->Set(grpc_core::GrpcTimeoutMetadata(), Timestamp::Now() + grpc_core::Duration::Seconds(7));
  request->Set(grpc_core::GrpcPreviousRpcAttemptsMetadata(), 3);
  request->Set(grpc_core::GrpcEncodingMetadata(), GRPC_COMPRESS_GZIP);
  Metadata status;
  status->Set(grpc_core::GrpcStatusMetadata(), GRPC_STATUS_DATA_LOSS);
  status->Set(grpc_core::GrpcMessageMetadata(), Slice::FromCopiedString("words"));
  return {request.Encode(),
          status.Encode(),
          Named("grpc-accept-encoding", "identity, deflate, gzip"),
          Named("grpc-trace-bin", "bytes"),
          Named("grpc-tags-bin", "bytes"),
          Named("grpc-server-stats-bin", "bytes"),
          Named("grpc-retry-pushback-ms", "12"),
          Named("lb-token", "token"),
          Named("lb-cost-bin", std::string("\0\0\0\0\0\0\360\77name", 12)),
          Named("host", "host") + Named("x-envoy-peer-metadata", "peer"),
          Named("name", "value") + Named("name", "") + Named("name-bin", std::string("\0\n\377", 3))};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const grpc_core::ExecCtx exec_ctx;  // within it the time stands still
  skein::fuzz::Metadata metadata;
  if (!metadata.Decode(skein::fuzz::Text(data, size))) return 0;
  skein::fuzz::Use(metadata);
  const std::string bytes = metadata.Encode();
  skein::fuzz::Metadata again;
  skein::fuzz::Require(again.Decode(bytes), "metadata that has come can be sent");
  skein::fuzz::Require(again->DebugString() == metadata->DebugString() && again.Encode() == bytes,
                       "and comes again as it was");
  return 0;
}
