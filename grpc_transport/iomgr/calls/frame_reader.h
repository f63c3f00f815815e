// Takes the bytes of a connection apart into frames, however they are cut.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_FRAME_READER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_FRAME_READER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "grpc_transport/iomgr/calls/frame.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// One thread at a time.
class FrameReader {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    // Bytes for chttp2, as they come. An error ends the connection.
    virtual absl::Status OnHttp2(grpc_core::Slice bytes) = 0;
    // A whole frame of another kind. `metadata`: initial and trailing, or the user agent. `message` may be emptied.
    virtual absl::Status OnFrame(const FrameHeader& header, const grpc_core::Slice& metadata,
                                 grpc_core::SliceBuffer& message) = 0;
  };

  // Empties `arrived`. An error of the sink's, or INVALID_ARGUMENT: the peer breaks the format. Not to be called again
  // after an error.
  absl::Status Read(grpc_slice_buffer& arrived, Sink& sink);

 private:
  absl::Status ReadSlice(const grpc_slice& bytes, Sink& sink);
  // Moves `at` behind what it takes; sets have_header().
  absl::Status TakeHeader(const grpc_slice& bytes, size_t& at);
  bool have_header() const { return header_bytes_ == kFrameHeaderBytes; }
  size_t MetadataBytes() const;
  grpc_core::Slice TakeMetadata();
  absl::Status EndFrame(Sink& sink);

  FrameHeader header_;
  size_t header_bytes_ = 0;      // of it, so far
  size_t missing_ = 0;           // of the body
  grpc_core::SliceBuffer body_;  // so far, but for HTTP/2's
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_FRAME_READER_H_
