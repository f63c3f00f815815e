// A copy on the heap without a byte to spare, so that AddressSanitizer sees whoever reads past its end.
#ifndef SKEIN_TESTS_SUPPORT_EXACT_BYTES_H_
#define SKEIN_TESTS_SUPPORT_EXACT_BYTES_H_

#include <cstddef>
#include <cstring>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein {

class ExactBytes {
 public:
  explicit ExactBytes(absl::string_view bytes) : size_(bytes.size()), data_(new char[bytes.size()]) {
    if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
  }
  absl::string_view text() const { return {data_.get(), size_}; }
  absl::Span<const std::byte> bytes() const { return {reinterpret_cast<const std::byte*>(data_.get()), size_}; }

 private:
  const size_t size_;
  const std::unique_ptr<char[]> data_;
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_EXACT_BYTES_H_
