#include "core/wire/block.h"

#include "absl/strings/str_cat.h"
#include "core/wire/bytes.h"

namespace skein::wire {

std::string Encode(const Block& block) {
  std::string out;
  Put(out, block.address);
  Put(out, block.rkey);
  Put(out, block.size);
  Put(out, block.number);
  return out;
}

absl::StatusOr<Block> DecodeBlock(absl::string_view bytes) {
  FieldReader reader(bytes);
  Block block;
  block.address = reader.Take<uint64_t>();
  block.rkey = reader.Take<uint32_t>();
  block.size = reader.Take<uint32_t>();
  block.number = reader.Take<uint32_t>();
  if (!reader.done()) return absl::DataLossError("a malformed block");
  if (block.size == 0 || block.size > kMaxBlockBytes || block.number >= kMaxBlocks) {
    return absl::DataLossError(absl::StrCat("block ", block.number, " of ", block.size, " bytes"));
  }
  return block;
}

std::string EncodePulled(absl::Span<const uint32_t> numbers) {
  std::string out;
  for (const uint32_t number : numbers) Put(out, number);
  return out;
}

absl::StatusOr<std::vector<uint32_t>> DecodePulled(absl::string_view bytes) {
  if (bytes.empty() || bytes.size() % sizeof(uint32_t) != 0 || bytes.size() > kMaxBlocks * sizeof(uint32_t)) {
    return absl::DataLossError(absl::StrCat(bytes.size(), " bytes that are no numbers of blocks"));
  }
  std::vector<uint32_t> numbers;
  for (FieldReader reader(bytes); !reader.done();) numbers.push_back(reader.Take<uint32_t>());
  return numbers;
}

}  // namespace skein::wire
