#include "grpc_transport/iomgr/calls/metadata.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {
namespace {

using grpc_core::Slice;

enum class Entry : uint8_t {
  kNamed,
  kPath,
  kAuthority,
  kMessage,
  kUserAgent,
  kTimeout,
  kStatus,
  kAttempts,
  kEncoding,
  kAcceptEncoding
};

// What MetadataMap::Encode calls for each of its entries.
class Encoder {
 public:
  explicit Encoder(BytesBuilder& to) : to_(to) {}

  void Encode(const Slice& name, const Slice& value) { Named(name.as_string_view(), value.as_string_view()); }
  void Encode(grpc_core::HttpPathMetadata, const Slice& value) { Text(Entry::kPath, value); }
  void Encode(grpc_core::HttpAuthorityMetadata, const Slice& value) { Text(Entry::kAuthority, value); }
  void Encode(grpc_core::GrpcMessageMetadata, const Slice& value) { Text(Entry::kMessage, value); }
  void Encode(grpc_core::UserAgentMetadata, const Slice& value) { Text(Entry::kUserAgent, value); }
  void Encode(grpc_core::GrpcStatusMetadata, grpc_status_code status) { Number(Entry::kStatus, status); }
  void Encode(grpc_core::GrpcPreviousRpcAttemptsMetadata, uint32_t count) { Number(Entry::kAttempts, count); }
  void Encode(grpc_core::GrpcEncodingMetadata, grpc_compression_algorithm a) { Number(Entry::kEncoding, a); }
  void Encode(grpc_core::GrpcAcceptEncodingMetadata, grpc_core::CompressionAlgorithmSet algorithms) {
    Number(Entry::kAcceptEncoding, algorithms.ToLegacyBitmask());
  }
  void Encode(grpc_core::GrpcTimeoutMetadata, grpc_core::Timestamp deadline) {
    if (deadline == grpc_core::Timestamp::InfFuture()) return;
    to_.Put(Entry::kTimeout);
    to_.Put((deadline - grpc_core::Timestamp::Now()).millis());
  }
  // HTTP/2's; and what never leaves a process.
  void Encode(grpc_core::HttpMethodMetadata, grpc_core::HttpMethodMetadata::ValueType) {}
  void Encode(grpc_core::HttpSchemeMetadata, grpc_core::HttpSchemeMetadata::ValueType) {}
  void Encode(grpc_core::HttpStatusMetadata, uint32_t) {}
  void Encode(grpc_core::TeMetadata, grpc_core::TeMetadata::ValueType) {}
  void Encode(grpc_core::ContentTypeMetadata, grpc_core::ContentTypeMetadata::ValueType) {}
  void Encode(grpc_core::GrpcInternalEncodingRequest, grpc_compression_algorithm) {}
  void Encode(grpc_core::GrpcLbClientStatsMetadata, grpc_core::GrpcLbClientStats*) {}
  // The rest of what gRPC knows.
  template <typename Trait, typename Value>
  void Encode(Trait, const Value& value) {
    Named(Trait::key(), Trait::Encode(value).as_string_view());
  }

 private:
  void Named(absl::string_view name, absl::string_view value) {
    to_.Put(Entry::kNamed);
    Sized(name);
    Sized(value);
  }
  void Text(Entry entry, const Slice& value) {
    to_.Put(entry);
    Sized(value.as_string_view());
  }
  void Number(Entry entry, uint32_t number) {
    to_.Put(entry);
    to_.Put(number);
  }
  void Sized(absl::string_view text) {
    to_.Put(static_cast<uint32_t>(text.size()));
    to_.Put(text);
  }

  BytesBuilder& to_;
};

class Decoder {
 public:
  Decoder(const grpc_slice& bytes, grpc_metadata_batch& metadata)
      : bytes_(bytes), end_(GRPC_SLICE_LENGTH(bytes)), metadata_(metadata) {}

  bool Run() {
    while (ok_ && at_ < end_) One(Take<Entry>());
    return ok_;
  }

 private:
  void One(Entry entry) {
    switch (entry) {
      case Entry::kNamed:
        return Named();
      case Entry::kPath:
        return Set(grpc_core::HttpPathMetadata());
      case Entry::kAuthority:
        return Set(grpc_core::HttpAuthorityMetadata());
      case Entry::kMessage:
        return Set(grpc_core::GrpcMessageMetadata());
      case Entry::kUserAgent:
        return Set(grpc_core::UserAgentMetadata());
      case Entry::kTimeout:
        return Timeout(Take<int64_t>());
      case Entry::kStatus:
        return Status(Take<uint32_t>());
      case Entry::kAttempts:
        return metadata_.Set(grpc_core::GrpcPreviousRpcAttemptsMetadata(), Take<uint32_t>());
      case Entry::kEncoding:
        return Encoding(Take<uint32_t>());
      case Entry::kAcceptEncoding:
        return metadata_.Set(grpc_core::GrpcAcceptEncodingMetadata(),
                             grpc_core::CompressionAlgorithmSet::FromUint32(Take<uint32_t>()));
    }
    ok_ = false;
  }

  template <typename T>
  T Take() {
    T value{};
    if (!Has(sizeof(T))) return value;
    std::memcpy(&value, GRPC_SLICE_START_PTR(bytes_) + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  Slice TakeSized() {
    const auto size = Take<uint32_t>();
    if (!Has(size)) return Slice();
    at_ += size;
    return Slice(grpc_slice_sub(bytes_, at_ - size, at_));
  }
  bool Has(size_t size) {
    ok_ = ok_ && size <= end_ - at_;
    return ok_;
  }

  template <typename Trait>
  void Set(Trait trait) {
    Slice value = TakeSized();
    if (ok_) metadata_.Set(trait, std::move(value));
  }
  // A deadline further away than this is as good as none, and sums with it do not wrap.
  void Timeout(int64_t milliseconds) {
    constexpr int64_t kYear = int64_t{366} * 24 * 3600 * 1000;
    if (!ok_ || milliseconds > kYear) return;
    const auto left = grpc_core::Duration::Milliseconds(std::max<int64_t>(milliseconds, 0));
    metadata_.Set(grpc_core::GrpcTimeoutMetadata(), grpc_core::Timestamp::Now() + left);
  }
  void Status(uint32_t code) {
    const bool known = code <= GRPC_STATUS_UNAUTHENTICATED;
    metadata_.Set(grpc_core::GrpcStatusMetadata(), known ? static_cast<grpc_status_code>(code) : GRPC_STATUS_UNKNOWN);
  }
  void Encoding(uint32_t algorithm) {
    if (algorithm >= GRPC_COMPRESS_ALGORITHMS_COUNT) {
      ok_ = false;
      return;
    }
    metadata_.Set(grpc_core::GrpcEncodingMetadata(), static_cast<grpc_compression_algorithm>(algorithm));
  }
  void Named() {
    const Slice name = TakeSized();
    Slice value = TakeSized();
    ok_ = ok_ && IsLegal(name, value);
    if (!ok_) return;
    metadata_.Append(name.as_string_view(), std::move(value), [this](absl::string_view, const Slice&) { ok_ = false; });
  }
  // gRPC's surface has checked what a program sends; a peer need not have.
  static bool IsLegal(const Slice& name, const Slice& value) {
    if (!grpc_validate_header_key_is_legal(name.c_slice()).ok() || IsNeverNamed(name.as_string_view())) return false;
    const bool binary = grpc_is_binary_header_internal(name.c_slice()) != 0;
    return binary || grpc_validate_header_nonbin_value_is_legal(value.c_slice()).ok();
  }
  // An entry of its own has checks that a name would pass by; and what never leaves a process is none of a peer's.
  static bool IsNeverNamed(absl::string_view name) {
    return IsOneOf<grpc_core::GrpcMessageMetadata, grpc_core::UserAgentMetadata, grpc_core::GrpcTimeoutMetadata,
                   grpc_core::GrpcStatusMetadata, grpc_core::GrpcPreviousRpcAttemptsMetadata,
                   grpc_core::GrpcEncodingMetadata, grpc_core::GrpcAcceptEncodingMetadata, grpc_core::TeMetadata,
                   grpc_core::ContentTypeMetadata, grpc_core::GrpcInternalEncodingRequest,
                   grpc_core::GrpcLbClientStatsMetadata>(name);
  }
  template <typename... Traits>
  static bool IsOneOf(absl::string_view name) {
    return ((name == Traits::key()) || ...);
  }

  const grpc_slice& bytes_;
  const size_t end_;
  grpc_metadata_batch& metadata_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

void BytesBuilder::Enlarge(size_t size) {
  const size_t capacity = 2 * (size_ + size);
  char* const more = static_cast<char*>(gpr_malloc(capacity));
  std::memcpy(more, data_, size_);
  if (data_ != few_) gpr_free(data_);
  data_ = more;
  capacity_ = capacity;
}

void EncodeMetadata(const grpc_metadata_batch& metadata, BytesBuilder& to) {
  Encoder encoder(to);
  metadata.Encode(&encoder);
}

// An entry takes at least 5 bytes in a frame, and with the name that is left out 68 at most as HTTP/2 counts. So the
// exact size of short metadata need not be known.
bool IsLongerThan(size_t limit, const grpc_metadata_batch& metadata, size_t bytes) {
  constexpr size_t kMostGrowth = 14;
  return bytes > limit / kMostGrowth && metadata.TransportSize() > limit;
}

bool DecodeMetadata(const grpc_slice& bytes, grpc_metadata_batch& metadata) { return Decoder(bytes, metadata).Run(); }

}  // namespace skein::grpc_transport
