// Metadata as bytes of a frame: what gRPC knows by a number, the rest by its name. HTTP/2's own (method, scheme, te,
// content type, status) is left out. Each entry:
//
//     u8 entry | by the entry: u32 size and that many bytes, u32, i64 or nothing
//
// Binary values travel as they are. What has an entry, or is left out, does not come by its name.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_METADATA_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Bytes that are put together: on the stack while they are few.
class BytesBuilder {
 public:
  BytesBuilder() = default;
  ~BytesBuilder() {
    if (data_ != few_) gpr_free(data_);
  }
  BytesBuilder(const BytesBuilder&) = delete;
  BytesBuilder& operator=(const BytesBuilder&) = delete;

  size_t size() const { return size_; }
  char* data() { return data_; }
  // Space for `size` bytes behind the rest, not set.
  char* Grow(size_t size) {
    if (size > capacity_ - size_) [[unlikely]]
      Enlarge(size);
    char* const at = data_ + size_;
    size_ += size;
    return at;
  }
  template <typename T>
  void Put(T value) {
    std::memcpy(Grow(sizeof(T)), &value, sizeof(T));
  }
  void Put(absl::string_view text) {
    if (!text.empty()) std::memcpy(Grow(text.size()), text.data(), text.size());
  }
  grpc_slice ToSlice() const { return grpc_slice_from_copied_buffer(data_, size_); }

 private:
  void Enlarge(size_t size);

  char few_[512];
  char* data_ = few_;
  size_t size_ = 0;
  size_t capacity_ = sizeof(few_);
};

void EncodeMetadata(const grpc_metadata_batch& metadata, BytesBuilder& to);

// Whether `metadata`, which takes `bytes` in a frame, is longer than `limit` as HTTP/2 counts, without the fields that
// HTTP/2 adds by itself (:status, content-type).
bool IsLongerThan(size_t limit, const grpc_metadata_batch& metadata, size_t bytes);

// Into `metadata`, whose slices share `bytes`. False: these bytes are no metadata; some of it may be in `metadata`.
bool DecodeMetadata(const grpc_slice& bytes, grpc_metadata_batch& metadata);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_METADATA_H_
