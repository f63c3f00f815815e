#include "core/durable/storage/blank.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace skein::durable {
namespace {

absl::StatusOr<bool> AllZeros(const Storage& storage) {
  std::string part;
  for (uint64_t offset = 0; offset < storage.size(); offset += part.size()) {
    part.resize(std::min<uint64_t>(storage.size() - offset, 1 << 20));
    if (absl::Status read = storage.Read(offset, absl::MakeSpan(part)); !read.ok()) return read;
    if (part.find_first_not_of('\0') != std::string::npos) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> IsBlank(const Storage& storage, uint64_t making, uint64_t made, absl::string_view kind) {
  uint64_t magic = 0;
  const absl::Span<char> bytes(reinterpret_cast<char*>(&magic), sizeof(magic));
  if (absl::Status read = storage.Read(0, bytes); !read.ok()) return read;
  if (magic == making) return true;
  if (magic == made) return false;
  absl::StatusOr<bool> zeros = AllZeros(storage);
  if (!zeros.ok() || *zeros) return zeros;
  return absl::FailedPreconditionError(
      absl::StrCat("what is there is no ", kind, ", and was left as it is; name another place, or clear it"));
}

}  // namespace skein::durable
