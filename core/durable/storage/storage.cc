#include "core/durable/storage/storage.h"

#include "absl/strings/str_cat.h"

namespace skein::durable {

absl::Status Storage::CheckRange(uint64_t offset, uint64_t length) const {
  if (offset <= size() && length <= size() - offset) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(length, " bytes at ", offset, " of a storage of ", size()));
}

absl::Status Storage::CheckWord(uint64_t offset) const {
  if (offset % sizeof(uint64_t) != 0) return absl::OutOfRangeError(absl::StrCat("a word at ", offset));
  return CheckRange(offset, sizeof(uint64_t));
}

absl::Status Storage::CheckRanges(absl::Span<const Extent> extents) const {
  for (const Extent& extent : extents) {
    if (absl::Status inside = CheckRange(extent.offset, extent.length); !inside.ok()) return inside;
  }
  return absl::OkStatus();
}

uint64_t TotalBytes(absl::Span<const absl::string_view> pieces) {
  uint64_t total = 0;
  for (const absl::string_view piece : pieces) total += piece.size();
  return total;
}

}  // namespace skein::durable
