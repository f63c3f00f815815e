// The frames in which HTTP/2's bytes and calls share a connection, once both ends have agreed on calls below HTTP/2.
//
//     u32 length of the body | u32 call | u8 kind | u8 flags | u16 0 | u32 initial | u32 trailing | u32 number | body
//
// All little-endian. Bodies and what else counts, by kind (the rest is 0):
//
//     kHttp2     bytes for chttp2, of call 0
//     kCall      initial metadata (`initial` bytes) | trailing metadata (`trailing` bytes) | the beginning of a message
//                of `number` bytes, as flags say
//     kMore      what follows of the message that has begun
//     kWindow    no body: the peer may send messages of the call that take `number` more of its window
//     kEnd       no body: the call is over, unfinished. `number`: its gRPC status
//     kRefused   no body: a server has not looked at the call
//     kHello     a client's user agent, of call 0; the first frame of calls
//     kDrain     no body, of call 0: the server is about to send GOAWAY; no call is to begin behind this
//     kGoodbye   no body: the server looks at no call behind this one, and sends nothing more
//
// Pure functions over bytes, all of them a peer's.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_FRAME_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_FRAME_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace skein::grpc_transport {

enum class FrameKind : uint8_t { kHttp2, kCall, kMore, kWindow, kEnd, kRefused, kHello, kDrain, kGoodbye };
inline constexpr uint8_t kLastFrameKind = static_cast<uint8_t>(FrameKind::kGoodbye);

// Flags of kCall.
inline constexpr uint8_t kInitial = 1;     // initial metadata: the beginning of a client's call, or of its answer
inline constexpr uint8_t kMessage = 2;     // a message begins
inline constexpr uint8_t kCompressed = 4;  // the message is, by the call's encoding
inline constexpr uint8_t kTrailing = 8;    // the sender sends nothing more on this call: half-close, or the status
inline constexpr uint8_t kCallFlags = 15;

struct FrameHeader {
  uint32_t length = 0;
  uint32_t call = 0;
  FrameKind kind = FrameKind::kHttp2;
  uint8_t flags = 0;
  uint16_t zero = 0;
  uint32_t initial = 0;
  uint32_t trailing = 0;
  uint32_t number = 0;
};
inline constexpr size_t kFrameHeaderBytes = 24;
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

// The bytes of messages in one frame at most: another call's frame may follow, however long the message is.
inline constexpr size_t kMaxFragmentBytes = size_t{64} << 10;
// Of metadata of either kind. A connection's own limit, which is told as HTTP/2 tells it, is lower.
inline constexpr size_t kMaxMetadataBytes = size_t{1} << 24;
inline constexpr size_t kMaxUserAgentBytes = size_t{16} << 10;
// What a call's sender may send of its messages before the receiver has said anything.
inline constexpr int64_t kInitialWindow = int64_t{256} << 10;
// And what it may send ahead of a receiver whose program waits for a message: each grant costs a wake-up.
inline constexpr int64_t kReadingWindow = int64_t{1} << 20;
// Of the window, for each message besides its bytes: what it takes to keep one, so that empty ones are bounded, too.
inline constexpr int64_t kMessageCost = 128;

// Whether a frame can begin so. INVALID_ARGUMENT says what is wrong; whose turn it is on the call is not looked at.
absl::Status CheckHeader(const FrameHeader& header);

// The bytes of messages in the frame.
inline uint32_t FragmentBytes(const FrameHeader& header) { return header.length - header.initial - header.trailing; }

inline int64_t WindowTaken(const FrameHeader& header) {
  return FragmentBytes(header) + (header.kind == FrameKind::kCall && (header.flags & kMessage) != 0 ? kMessageCost : 0);
}

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_FRAME_H_
