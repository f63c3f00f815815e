// Any bytes are exactly the encoding of a block, or of the numbers of some, or an error.
#include "core/wire/block.h"

#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  const std::vector<uint32_t> numbers = {3, 0, 1023};
  return {wire::Encode(wire::Block{0x7f0000001000, 7, 1000, 3}), wire::EncodePulled(numbers)};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  const absl::StatusOr<skein::wire::Block> block = skein::wire::DecodeBlock(bytes);
  if (block.ok()) {
    Require(skein::wire::Encode(*block) == bytes, "nothing of a block is lost");
    Require(block->size > 0 && block->size <= skein::wire::kMaxBlockBytes, "it has some bytes, and not too many");
    Require(block->number < skein::wire::kMaxBlocks, "its number is bounded");
  }
  const absl::StatusOr<std::vector<uint32_t>> numbers = skein::wire::DecodePulled(bytes);
  if (numbers.ok()) Require(skein::wire::EncodePulled(*numbers) == bytes, "nothing of an answer is lost");
  return 0;
}
