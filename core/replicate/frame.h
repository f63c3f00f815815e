// What members of a group say to each other on a path: frames of 32 bytes, some with bytes behind them.
//
//   offset  0     1        2       4        8        12       16       24
//           kind  detail   length  member   number   zero     write    bytes
//   hello   1     schedule version own      members  0        group    0
//   begin   2     0        0       0        block    0        write    size of the whole     block: bytes of one
//   block   3     0        0       0        block    0        write    0                     its bytes follow
//   have    4     0        0       whose    0        0        write    0                     all of the write
//   failed  5     code     of text whose    0        0        0        0                     the text follows
//
// Little-endian. A hello comes first on each path, both ways. A begin comes before the first block of a write on a
// path; so whichever path is ahead, a receiver knows what the write is.
#ifndef SKEIN_CORE_REPLICATE_FRAME_H_
#define SKEIN_CORE_REPLICATE_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/replicate/schedule.h"

namespace skein::replicate {

inline constexpr size_t kFrameBytes = 32;
inline constexpr uint16_t kVersion = 1;
// What a decoder lets through, whatever a group allows.
inline constexpr uint32_t kMaxMembers = 4096;
inline constexpr uint32_t kMaxBlocks = 1 << 16;
inline constexpr size_t kMaxFailureText = 256;

struct Hello {
  uint64_t group = 0;
  uint32_t members = 0;
  uint32_t member = 0;  // who says it
  ScheduleKind schedule = ScheduleKind::kBinomialPipeline;
  bool operator==(const Hello&) const = default;
};

struct Begin {
  uint64_t write = 0;  // counted from 1
  uint64_t bytes = 0;
  uint32_t block_bytes = 0;
  bool operator==(const Begin&) const = default;

  // One for a write of no bytes, too.
  uint32_t blocks() const { return bytes == 0 ? 1 : static_cast<uint32_t>((bytes - 1) / block_bytes + 1); }
  uint64_t OffsetOf(uint32_t block) const { return uint64_t{block} * block_bytes; }
  size_t SizeOf(uint32_t block) const {
    return static_cast<size_t>(bytes - OffsetOf(block) < block_bytes ? bytes - OffsetOf(block) : block_bytes);
  }
};

struct Block {
  uint64_t write = 0;
  uint32_t number = 0;
  bool operator==(const Block&) const = default;
};

struct Have {
  uint64_t write = 0;
  uint32_t member = 0;
  bool operator==(const Have&) const = default;
};

struct Failure {
  uint32_t member = 0;  // where it happened, or whose path ended
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  uint16_t text_bytes = 0;
  bool operator==(const Failure&) const = default;
};

using Frame = std::variant<Hello, Begin, Block, Have, Failure>;

std::string Encode(const Frame& frame);
// With its text, cut to what may be.
std::string EncodeFailure(uint32_t member, const absl::Status& status);

// Of kFrameBytes. DATA_LOSS for what no member sends: then each field is within its bounds, and begin's blocks are at
// most kMaxBlocks.
absl::StatusOr<Frame> Decode(absl::Span<const std::byte> bytes);
// The status that a failure's text_bytes say, printable.
absl::Status StatusOf(const Failure& failure, absl::string_view text);

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_FRAME_H_
