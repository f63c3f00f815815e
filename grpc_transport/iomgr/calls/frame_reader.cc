#include "grpc_transport/iomgr/calls/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace skein::grpc_transport {

using grpc_core::Slice;

absl::Status FrameReader::Read(grpc_slice_buffer& arrived, Sink& sink) {
  absl::Status status;
  while (status.ok() && arrived.count > 0) {
    const Slice bytes(grpc_slice_buffer_take_first(&arrived));
    status = ReadSlice(bytes.c_slice(), sink);
  }
  return status;
}

absl::Status FrameReader::ReadSlice(const grpc_slice& bytes, Sink& sink) {
  const size_t size = GRPC_SLICE_LENGTH(bytes);
  size_t at = 0;
  while (at < size) {
    if (!have_header()) {
      if (absl::Status status = TakeHeader(bytes, at); !status.ok()) return status;
      if (!have_header()) return absl::OkStatus();
    }
    const size_t taken = std::min(missing_, size - at);
    if (taken > 0) {
      Slice part(grpc_slice_sub(bytes, at, at + taken));
      at += taken;
      missing_ -= taken;
      if (header_.kind == FrameKind::kHttp2) {
        if (absl::Status status = sink.OnHttp2(std::move(part)); !status.ok()) return status;
      } else {
        body_.AppendIndexed(std::move(part));
      }
    }
    if (missing_ > 0) continue;
    if (absl::Status status = EndFrame(sink); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status FrameReader::TakeHeader(const grpc_slice& bytes, size_t& at) {
  const size_t taken = std::min(kFrameHeaderBytes - header_bytes_, GRPC_SLICE_LENGTH(bytes) - at);
  std::memcpy(reinterpret_cast<char*>(&header_) + header_bytes_, GRPC_SLICE_START_PTR(bytes) + at, taken);
  at += taken;
  header_bytes_ += taken;
  if (!have_header()) return absl::OkStatus();
  missing_ = header_.length;
  return CheckHeader(header_);
}

size_t FrameReader::MetadataBytes() const {
  return header_.kind == FrameKind::kHello ? header_.length : size_t{header_.initial} + header_.trailing;
}

Slice FrameReader::TakeMetadata() {
  const size_t size = MetadataBytes();
  if (size == 0) return Slice();
  if (GRPC_SLICE_LENGTH(body_.c_slice_at(0)) < size) {
    grpc_slice whole = GRPC_SLICE_MALLOC(size);
    body_.MoveFirstNBytesIntoBuffer(size, GRPC_SLICE_START_PTR(whole));
    return Slice(whole);
  }
  Slice first = body_.TakeFirst();
  if (first.size() == size) return first;
  body_.Prepend(Slice(grpc_slice_sub(first.c_slice(), size, first.size())));
  return Slice(grpc_slice_sub(first.c_slice(), 0, size));
}

absl::Status FrameReader::EndFrame(Sink& sink) {
  header_bytes_ = 0;
  if (header_.kind == FrameKind::kHttp2) return absl::OkStatus();
  const Slice metadata = TakeMetadata();
  absl::Status status = sink.OnFrame(header_, metadata, body_);
  body_.Clear();
  return status;
}

}  // namespace skein::grpc_transport
