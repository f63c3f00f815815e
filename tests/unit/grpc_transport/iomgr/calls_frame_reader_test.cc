// A connection's bytes give the same frames however the kernel has cut them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpc_transport/iomgr/calls/frame_reader.h"
#include "gtest/gtest.h"
#include "tests/support/recorded_frames.h"

namespace skein::grpc_transport {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

RecordedFrame Frame(FrameKind kind, uint32_t call, absl::string_view message = {}, uint32_t number = 0) {
  RecordedFrame frame;
  frame.header.kind = kind;
  frame.header.call = call;
  frame.header.length = static_cast<uint32_t>(message.size());
  frame.header.number = number;
  frame.message = std::string(message);
  return frame;
}

RecordedFrame CallFrame(uint32_t call, absl::string_view initial, absl::string_view trailing,
                        absl::string_view message) {
  RecordedFrame frame = Frame(FrameKind::kCall, call, message, static_cast<uint32_t>(message.size()));
  frame.metadata = absl::StrCat(initial, trailing);
  frame.header.flags = kInitial | kMessage | kTrailing;
  frame.header.initial = static_cast<uint32_t>(initial.size());
  frame.header.trailing = static_cast<uint32_t>(trailing.size());
  frame.header.length = static_cast<uint32_t>(frame.metadata.size() + message.size());
  return frame;
}

RecordedFrame Hello(absl::string_view agent) {
  RecordedFrame frame = Frame(FrameKind::kHello, 0, agent);
  std::swap(frame.metadata, frame.message);
  return frame;
}

RecordedFrame Http2(absl::string_view bytes) {
  RecordedFrame frame;
  frame.message = std::string(bytes);
  return frame;
}

// As it is sent: with its length.
std::string Http2Bytes(absl::string_view bytes) { return Bytes(Frame(FrameKind::kHttp2, 0, bytes)); }

// All kinds; metadata and messages so short that gRPC keeps them inside a slice, and so long that it does not.
std::vector<RecordedFrame> AllKinds() {
  return {Hello("agent/1.0"),
          Http2("some bytes of chttp2"),
          CallFrame(1, "initial", "", "short"),
          CallFrame(3, std::string(40, 'i'), std::string(50, 't'), std::string(60, 'm')),
          CallFrame(5, "", "", ""),
          CallFrame(7, "", "trailing", ""),
          Frame(FrameKind::kMore, 1, std::string(70, 'f')),
          Frame(FrameKind::kWindow, 1, {}, 1000),
          Http2("more of them"),
          Frame(FrameKind::kEnd, 3, {}, 8),
          Frame(FrameKind::kRefused, 5),
          Frame(FrameKind::kDrain, 0),
          Frame(FrameKind::kGoodbye, 7)};
}

std::string BytesOfAllKinds() {
  std::string bytes;
  for (const RecordedFrame& frame : AllKinds()) {
    const bool is_http2 = frame.header == FrameHeader();
    absl::StrAppend(&bytes, is_http2 ? Http2Bytes(frame.message) : Bytes(frame));
  }
  return bytes;
}

TEST(CallsFrameReaderTest, TakesManyFramesOfOneSlice) {
  FrameReader reader;
  RecordedFrames seen;
  EXPECT_EQ(ReadText(reader, BytesOfAllKinds(), seen), absl::OkStatus());
  EXPECT_THAT(seen.frames(), ElementsAreArray(AllKinds()));
}

TEST(CallsFrameReaderTest, GivesTheSameFramesWhereverTheBytesAreCut) {
  const std::string bytes = BytesOfAllKinds();
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const absl::string_view first = absl::string_view(bytes).substr(0, cut);
    const absl::string_view second = absl::string_view(bytes).substr(cut);
    FrameReader reader;
    RecordedFrames seen;
    EXPECT_EQ(ReadText(reader, first, seen), absl::OkStatus());
    EXPECT_EQ(ReadText(reader, second, seen), absl::OkStatus());
    ASSERT_THAT(seen.frames(), ElementsAreArray(AllKinds())) << "two reads, cut at " << cut;
  }
}

TEST(CallsFrameReaderTest, GivesTheSameFramesFromSlicesOfEverySize) {
  const std::string bytes = BytesOfAllKinds();
  for (size_t size = 1; size <= bytes.size(); ++size) {
    FrameReader reader;
    RecordedFrames seen;
    EXPECT_EQ(ReadText(reader, bytes, seen, size), absl::OkStatus());
    ASSERT_THAT(seen.frames(), ElementsAreArray(AllKinds())) << "one read of slices of " << size;
  }
}

TEST(CallsFrameReaderTest, GivesTheSameFramesByteByByte) {
  FrameReader reader;
  RecordedFrames seen;
  for (const char byte : BytesOfAllKinds()) ASSERT_EQ(ReadText(reader, {&byte, 1}, seen), absl::OkStatus());
  EXPECT_THAT(seen.frames(), ElementsAreArray(AllKinds()));
}

TEST(CallsFrameReaderTest, HandsOutNoFrameBeforeItsLastByte) {
  for (const RecordedFrame& frame : AllKinds()) {
    if (frame.header == FrameHeader()) continue;  // HTTP/2's
    const std::string bytes = Bytes(frame);
    FrameReader reader;
    RecordedFrames seen;
    EXPECT_EQ(ReadText(reader, bytes.substr(0, bytes.size() - 1), seen), absl::OkStatus());
    EXPECT_THAT(seen.frames(), IsEmpty());
    EXPECT_EQ(ReadText(reader, bytes.substr(bytes.size() - 1), seen), absl::OkStatus());
    EXPECT_THAT(seen.frames(), ElementsAre(frame));
  }
}

TEST(CallsFrameReaderTest, PassesHttp2BytesAsTheyCome) {
  const std::string bytes = Http2Bytes("first half, second half");
  FrameReader reader;
  RecordedFrames seen;
  EXPECT_EQ(ReadText(reader, bytes.substr(0, kFrameHeaderBytes + 10), seen), absl::OkStatus());
  EXPECT_THAT(seen.frames(), ElementsAre(Http2("first half")));
  EXPECT_EQ(ReadText(reader, bytes.substr(kFrameHeaderBytes + 10), seen), absl::OkStatus());
  EXPECT_THAT(seen.frames(), ElementsAre(Http2("first half, second half")));
}

TEST(CallsFrameReaderTest, Http2FramesWithoutBytesAreNothing) {
  FrameReader reader;
  RecordedFrames seen;
  const RecordedFrame window = Frame(FrameKind::kWindow, 1, {}, 1);
  EXPECT_EQ(ReadText(reader, Http2Bytes("") + Bytes(window) + Http2Bytes(""), seen), absl::OkStatus());
  EXPECT_THAT(seen.frames(), ElementsAre(window));
}

// Where the bytes of messages and of HTTP/2 lie, and whether metadata is in one piece.
class Places final : public FrameReader::Sink {
 public:
  absl::Status OnHttp2(grpc_core::Slice bytes) override {
    http2 = bytes.begin();
    return absl::OkStatus();
  }
  absl::Status OnFrame(const FrameHeader&, const grpc_core::Slice&, grpc_core::SliceBuffer& bytes) override {
    message = GRPC_SLICE_START_PTR(bytes.c_slice_at(0));
    return absl::OkStatus();
  }
  const uint8_t* http2 = nullptr;
  const uint8_t* message = nullptr;
};

TEST(CallsFrameReaderTest, CopiesNeitherMessagesNorHttp2Bytes) {
  const std::string http2 = Http2Bytes(std::string(100, 'h'));
  const std::string call = Bytes(CallFrame(1, "initial", "trailing", std::string(100, 'm')));
  const grpc_core::Slice arrived = grpc_core::Slice::FromCopiedString(http2 + call);
  grpc_core::SliceBuffer buffer;
  buffer.AppendIndexed(arrived.Ref());
  FrameReader reader;
  Places places;
  EXPECT_EQ(reader.Read(*buffer.c_slice_buffer(), places), absl::OkStatus());
  EXPECT_EQ(places.http2, arrived.begin() + kFrameHeaderBytes);
  EXPECT_EQ(places.message, arrived.end() - 100);
}

TEST(CallsFrameReaderTest, ReadEmptiesWhatHasArrived) {
  grpc_core::SliceBuffer arrived;
  for (const char byte : BytesOfAllKinds()) arrived.AppendIndexed(grpc_core::Slice::FromCopiedBuffer(&byte, 1));
  FrameReader reader;
  RecordedFrames seen;
  EXPECT_EQ(reader.Read(*arrived.c_slice_buffer(), seen), absl::OkStatus());
  EXPECT_EQ(arrived.Length(), 0u);
}

// A sink that takes what belongs to a message leaves nothing of it for the next.
class Keeping final : public FrameReader::Sink {
 public:
  absl::Status OnHttp2(grpc_core::Slice) override { return absl::OkStatus(); }
  absl::Status OnFrame(const FrameHeader&, const grpc_core::Slice&, grpc_core::SliceBuffer& bytes) override {
    sizes.push_back(bytes.Length());
    if (sizes.size() == 1) kept.Swap(&bytes);
    return absl::OkStatus();
  }
  std::vector<size_t> sizes;
  grpc_core::SliceBuffer kept;
};

TEST(CallsFrameReaderTest, MessagesMayBeTakenOrLeft) {
  std::string bytes;
  for (const size_t size : {100, 50, 30}) absl::StrAppend(&bytes, Bytes(CallFrame(1, "", "", std::string(size, 'm'))));
  FrameReader reader;
  Keeping sink;
  EXPECT_EQ(ReadText(reader, bytes, sink, 7), absl::OkStatus());
  EXPECT_THAT(sink.sizes, ElementsAre(100, 50, 30));
  EXPECT_EQ(sink.kept.JoinIntoString(), std::string(100, 'm'));
}

TEST(CallsFrameReaderTest, StopsAtAProtocolError) {
  const RecordedFrame before = CallFrame(1, "initial", "", "message");
  const RecordedFrame protocol_error = Frame(FrameKind::kWindow, 0, {}, 1);
  const std::string bytes = Bytes(before) + Bytes(protocol_error) + Bytes(before);
  for (size_t size = 1; size <= bytes.size(); ++size) {
    FrameReader reader;
    RecordedFrames seen;
    EXPECT_TRUE(absl::IsInvalidArgument(ReadText(reader, bytes, seen, size)));
    ASSERT_THAT(seen.frames(), ElementsAre(before)) << "slices of " << size;
  }
}

// A peer that names a huge body need not send it to be refused.
TEST(CallsFrameReaderTest, SeesAProtocolErrorBeforeTheBody) {
  RecordedFrame protocol_error = Frame(FrameKind::kMore, 1);
  protocol_error.header.length = UINT32_MAX;
  FrameReader reader;
  RecordedFrames seen;
  EXPECT_TRUE(absl::IsInvalidArgument(ReadText(reader, HeaderBytes(protocol_error.header), seen)));
}

// Accepts so many frames and pieces.
class Refusing final : public FrameReader::Sink {
 public:
  explicit Refusing(int accepted) : left_(accepted) {}
  absl::Status OnHttp2(grpc_core::Slice) override { return Next(); }
  absl::Status OnFrame(const FrameHeader&, const grpc_core::Slice&, grpc_core::SliceBuffer&) override { return Next(); }
  int after_refusal() const { return after_refusal_; }

 private:
  absl::Status Next() {
    if (left_ < 0) ++after_refusal_;
    return left_-- > 0 ? absl::OkStatus() : absl::AbortedError("enough");
  }
  int left_;
  int after_refusal_ = 0;
};

TEST(CallsFrameReaderTest, StopsWhereTheSinkSaysSo) {
  const auto all = static_cast<int>(AllKinds().size());
  for (int accepted = 0; accepted < all; ++accepted) {
    FrameReader reader;
    Refusing sink(accepted);
    EXPECT_EQ(ReadText(reader, BytesOfAllKinds(), sink), absl::AbortedError("enough")) << accepted;
    EXPECT_EQ(sink.after_refusal(), 0) << accepted;
  }
}

}  // namespace
}  // namespace skein::grpc_transport
