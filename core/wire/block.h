// Bytes that stay in their sender's memory until the receiver has read them: how they are announced, and what is
// answered. FORMAT.md, "Blocks".
#ifndef SKEIN_CORE_WIRE_BLOCK_H_
#define SKEIN_CORE_WIRE_BLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein::wire {

inline constexpr uint32_t kMaxBlocks = 1024;  // of a link and direction
inline constexpr uint32_t kMaxBlockBytes = 32 << 10;

struct Block {
  uint64_t address = 0;
  uint32_t rkey = 0;
  uint32_t size = 0;    // 1 to kMaxBlockBytes
  uint32_t number = 0;  // below kMaxBlocks: by which it is answered
};

std::string Encode(const Block& block);
// DATA_LOSS for anything else.
absl::StatusOr<Block> DecodeBlock(absl::string_view bytes);

// The numbers of blocks that are free again, 1 to kMaxBlocks of them.
std::string EncodePulled(absl::Span<const uint32_t> numbers);
absl::StatusOr<std::vector<uint32_t>> DecodePulled(absl::string_view bytes);

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_BLOCK_H_
