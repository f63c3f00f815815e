#include "grpc_transport/iomgr/calls/frame.h"

namespace skein::grpc_transport {
namespace {

constexpr uint32_t kMaxStatus = 16;  // grpc_status_code's

bool IsCall(const FrameHeader& header) {
  if ((header.flags & ~kCallFlags) != 0 || header.flags == 0) return false;
  if (header.initial > kMaxMetadataBytes || header.trailing > kMaxMetadataBytes) return false;
  if (uint64_t{header.initial} + header.trailing > header.length) return false;
  if ((header.flags & kInitial) == 0 && header.initial != 0) return false;
  if ((header.flags & kTrailing) == 0 && header.trailing != 0) return false;
  if ((header.flags & kMessage) == 0) {
    return header.number == 0 && (header.flags & kCompressed) == 0 && FragmentBytes(header) == 0;
  }
  const uint32_t fragment = FragmentBytes(header);
  // What ends the call comes behind the whole message.
  return fragment <= kMaxFragmentBytes && fragment <= header.number &&
         ((header.flags & kTrailing) == 0 || fragment == header.number);
}

bool HasOnlyBody(const FrameHeader& header) { return header.flags == 0 && header.number == 0; }

bool IsWellFormed(const FrameHeader& header) {
  if (header.zero != 0) return false;
  if (header.kind == FrameKind::kCall) return header.call != 0 && IsCall(header);
  if (header.initial != 0 || header.trailing != 0) return false;
  switch (header.kind) {
    case FrameKind::kHttp2:
      return header.call == 0 && HasOnlyBody(header);
    case FrameKind::kHello:
      return header.call == 0 && HasOnlyBody(header) && header.length <= kMaxUserAgentBytes;
    case FrameKind::kMore:
      return header.call != 0 && HasOnlyBody(header) && header.length != 0 && header.length <= kMaxFragmentBytes;
    case FrameKind::kWindow:
      return header.call != 0 && header.flags == 0 && header.length == 0 && header.number != 0;
    case FrameKind::kEnd:
      return header.call != 0 && header.flags == 0 && header.length == 0 && header.number <= kMaxStatus;
    case FrameKind::kRefused:
      return header.call != 0 && HasOnlyBody(header) && header.length == 0;
    case FrameKind::kDrain:
      return header.call == 0 && HasOnlyBody(header) && header.length == 0;
    case FrameKind::kGoodbye:
      return HasOnlyBody(header) && header.length == 0;
    case FrameKind::kCall:
      break;
  }
  return false;
}

}  // namespace

absl::Status CheckHeader(const FrameHeader& header) {
  return IsWellFormed(header) ? absl::OkStatus() : absl::InvalidArgumentError("a malformed frame");
}

}  // namespace skein::grpc_transport
