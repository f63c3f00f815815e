// Any bytes, however they are cut, are the same frames up to the same protocol error; each frame is what its header
// says.
//
//     u8 size of slices, 0: as many as there are | u8 slices in one read, likewise | the connection's bytes
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "grpc_transport/iomgr/calls/frame_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/recorded_frames.h"

namespace skein::fuzz {
namespace {

using grpc_transport::FrameHeader;
using grpc_transport::FrameKind;
using grpc_transport::FrameReader;
using grpc_transport::RecordedFrame;
using grpc_transport::RecordedFrames;

struct Result {
  bool whole;  // no protocol error
  std::vector<RecordedFrame> frames;
};

Result Read(absl::string_view bytes, size_t slice, size_t read) {
  FrameReader reader;
  RecordedFrames seen;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(read, bytes.size()))) {
    const absl::Status status = ReadText(reader, bytes.substr(0, read), seen, slice);
    if (status.ok()) continue;
    Require(absl::IsInvalidArgument(status), "a protocol error is an invalid argument");
    return {false, seen.TakeFrames()};
  }
  return {true, seen.TakeFrames()};
}

void Check(const RecordedFrame& frame, size_t most) {
  const FrameHeader& header = frame.header;
  Require(frame.metadata.size() + frame.message.size() <= most, "no more bytes than came");
  if (header == FrameHeader()) return;  // HTTP/2's bytes, in any pieces
  Require(grpc_transport::CheckHeader(header).ok(), "a frame is well-formed");
  Require(header.kind != FrameKind::kHttp2, "HTTP/2's bytes are handed on as they come");
  Require(frame.metadata.size() + frame.message.size() == header.length, "a frame is whole");
  Require(frame.message.size() <= grpc_transport::kMaxFragmentBytes, "a fragment's bound");
  if (header.kind == FrameKind::kCall) {
    Require(frame.metadata.size() == header.initial + header.trailing, "metadata and message are told apart");
  }
}

std::string Frame(FrameKind kind, uint32_t call, absl::string_view body, uint32_t number = 0) {
  FrameHeader header;
  header.kind = kind;
  header.call = call;
  header.length = static_cast<uint32_t>(body.size());
  header.number = number;
  return grpc_transport::HeaderBytes(header) + std::string(body);
}

// Its header alone, which is refused before a body has come.
std::string TooLong(FrameKind kind, uint32_t call, size_t most) {
  FrameHeader header;
  header.kind = kind;
  header.call = call;
  header.length = static_cast<uint32_t>(most + 1);
  return grpc_transport::HeaderBytes(header);
}

std::string CallFrame(uint8_t flags, absl::string_view initial, absl::string_view trailing, absl::string_view message,
                      uint32_t number) {
  FrameHeader header;
  header.kind = FrameKind::kCall;
  header.call = 1;
  header.flags = flags;
  header.initial = static_cast<uint32_t>(initial.size());
  header.trailing = static_cast<uint32_t>(trailing.size());
  header.length = static_cast<uint32_t>(initial.size() + trailing.size() + message.size());
  header.number = number;
  return absl::StrCat(grpc_transport::HeaderBytes(header), initial, trailing, message);
}

}  // namespace

std::vector<std::string> Seeds() {
  using grpc_transport::kInitial;
  using grpc_transport::kMessage;
  using grpc_transport::kTrailing;
  const std::string client = Frame(FrameKind::kHttp2, 0, "settings") + Frame(FrameKind::kHello, 0, "agent/1.0") +
                             CallFrame(kInitial | kMessage | kTrailing, "initial", "", "request", 7);
  const std::string server =
      CallFrame(kInitial | kMessage | kTrailing, std::string(40, 'i'), std::string(50, 't'), std::string(60, 'm'), 60);
  const std::string streaming = CallFrame(kInitial, "initial", "", "", 0) + CallFrame(kMessage, "", "", "begins", 12) +
                                Frame(FrameKind::kMore, 1, ", ends") + Frame(FrameKind::kWindow, 1, "", 1000) +
                                CallFrame(kTrailing, "", "status", "", 0);
  const std::string endings = Frame(FrameKind::kRefused, 3, "") + Frame(FrameKind::kEnd, 5, "", 16) +
                              Frame(FrameKind::kGoodbye, 5, "") + Frame(FrameKind::kHttp2, 0, "goaway");
  const std::string one_byte("\1\1", 2);
  const std::string some("\7\3", 2);
  const std::string all(2, '\0');
  return {all + client,
          one_byte + client,
          some + server,
          one_byte + server,
          some + streaming,
          one_byte + endings,
          all + endings,
          some + client + streaming + endings,
          all + TooLong(FrameKind::kMore, 1, grpc_transport::kMaxFragmentBytes),
          all + TooLong(FrameKind::kHello, 0, grpc_transport::kMaxUserAgentBytes)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const absl::string_view bytes = skein::fuzz::Text(data, size).substr(2);
  constexpr size_t kAll = absl::string_view::npos;
  const size_t slice = data[0] == 0 ? kAll : data[0];
  const size_t read = data[1] == 0 || slice == kAll ? kAll : data[1] * slice;
  const skein::fuzz::Result uncut = skein::fuzz::Read(bytes, kAll, kAll);
  const skein::fuzz::Result cut = skein::fuzz::Read(bytes, slice, read);
  skein::fuzz::Require(cut.whole == uncut.whole, "the same protocol error however the bytes are cut");
  skein::fuzz::Require(cut.frames == uncut.frames, "the same frames however the bytes are cut");
  for (const skein::grpc_transport::RecordedFrame& frame : uncut.frames) skein::fuzz::Check(frame, bytes.size());
  return 0;
}
