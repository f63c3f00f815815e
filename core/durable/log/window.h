// Reads a storage in large parts, for who looks at all of it piece by piece.
#ifndef SKEIN_CORE_DURABLE_LOG_WINDOW_H_
#define SKEIN_CORE_DURABLE_LOG_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

class Window {
 public:
  explicit Window(const Storage& storage) : storage_(storage) {}

  // Good until the next call.
  absl::StatusOr<absl::string_view> At(uint64_t offset, uint64_t length) {
    if (offset < begin_ || length > bytes_.size() || offset - begin_ > bytes_.size() - length) {
      begin_ = offset;
      bytes_.resize(std::max(length, std::min(kPart, storage_.size() - std::min(offset, storage_.size()))));
      if (absl::Status read = storage_.Read(offset, absl::MakeSpan(bytes_)); !read.ok()) {
        bytes_.clear();
        return read;
      }
    }
    return absl::string_view(bytes_).substr(offset - begin_, length);
  }

 private:
  static constexpr uint64_t kPart = 1 << 18;

  const Storage& storage_;
  uint64_t begin_ = 0;
  std::string bytes_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_WINDOW_H_
