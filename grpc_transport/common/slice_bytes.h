// Slices of gRPC's as a negotiation reads them: a few bytes at a connection's beginning.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_SLICE_BYTES_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_SLICE_BYTES_H_

#include <grpc/slice.h>
#include <grpc/slice_buffer.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace skein::grpc_transport {

// All bytes of `buffer`, but at most `most` of them.
inline std::string FirstBytesOf(const grpc_slice_buffer& buffer, size_t most) {
  std::string bytes;
  for (size_t i = 0; i < buffer.count && bytes.size() < most; ++i) {
    const grpc_slice& slice = buffer.slices[i];
    bytes.append(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
                 std::min(GRPC_SLICE_LENGTH(slice), most - bytes.size()));
  }
  return bytes;
}

// `bytes`: at most all.
inline void DropFirst(grpc_slice_buffer* buffer, size_t bytes) {
  grpc_slice_buffer dropped;
  grpc_slice_buffer_init(&dropped);
  grpc_slice_buffer_move_first(buffer, bytes, &dropped);
  grpc_slice_buffer_destroy(&dropped);
}

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_SLICE_BYTES_H_
