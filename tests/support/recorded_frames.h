// What a FrameReader hands out, in one form however the bytes were cut; and frames as bytes.
#ifndef SKEIN_TESTS_SUPPORT_RECORDED_FRAMES_H_
#define SKEIN_TESTS_SUPPORT_RECORDED_FRAMES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpc_transport/iomgr/calls/frame_reader.h"

namespace skein::grpc_transport {

inline bool operator==(const FrameHeader& a, const FrameHeader& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

inline std::string HeaderBytes(const FrameHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

struct RecordedFrame {
  FrameHeader header;
  std::string metadata;
  std::string message;  // or HTTP/2's bytes

  bool operator==(const RecordedFrame&) const = default;
};

inline std::string Bytes(const RecordedFrame& frame) {
  return HeaderBytes(frame.header) + frame.metadata + frame.message;
}

// Tests compare millions of bytes: the beginning shows which frame it is.
inline void PrintTo(const RecordedFrame& frame, std::ostream* out) {
  const FrameHeader& header = frame.header;
  *out << "{kind " << int{static_cast<uint8_t>(header.kind)} << ", call " << header.call << ", flags "
       << int{header.flags} << ", number " << header.number << ", metadata (" << frame.metadata.size() << ") "
       << frame.metadata.substr(0, 40) << ", message (" << frame.message.size() << ") " << frame.message.substr(0, 40)
       << "}";
}

// HTTP/2's bytes between two other frames are one frame without a header: they come in any pieces.
class RecordedFrames final : public FrameReader::Sink {
 public:
  absl::Status OnHttp2(grpc_core::Slice bytes) override {
    if (!after_http2_) frames_.emplace_back();
    after_http2_ = true;
    frames_.back().message += std::string(bytes.as_string_view());
    return absl::OkStatus();
  }
  absl::Status OnFrame(const FrameHeader& header, const grpc_core::Slice& metadata,
                       grpc_core::SliceBuffer& message) override {
    after_http2_ = false;
    frames_.push_back({header, std::string(metadata.as_string_view()), message.JoinIntoString()});
    return absl::OkStatus();
  }

  const std::vector<RecordedFrame>& frames() const { return frames_; }
  std::vector<RecordedFrame> TakeFrames() {
    after_http2_ = false;
    return std::exchange(frames_, {});
  }

 private:
  std::vector<RecordedFrame> frames_;
  bool after_http2_ = false;
};

// One Read of `bytes`, which lie in slices of at most `cut` bytes.
inline absl::Status ReadText(FrameReader& reader, absl::string_view bytes, FrameReader::Sink& sink,
                             size_t cut = absl::string_view::npos) {
  grpc_core::SliceBuffer arrived;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(cut, bytes.size()))) {
    arrived.AppendIndexed(grpc_core::Slice::FromCopiedBuffer(bytes.data(), std::min(cut, bytes.size())));
  }
  return reader.Read(*arrived.c_slice_buffer(), sink);
}

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_SUPPORT_RECORDED_FRAMES_H_
