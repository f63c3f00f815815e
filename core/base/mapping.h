// Mapped memory with one owner.
#ifndef SKEIN_CORE_BASE_MAPPING_H_
#define SKEIN_CORE_BASE_MAPPING_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace skein {

// Children made by fork do not inherit it: they must not touch their parent's connections.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  absl::Span<std::byte> bytes() const { return bytes_; }
  std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  friend absl::StatusOr<Mapping> Map(int fd, size_t size, bool writable);
  absl::Span<std::byte> bytes_;
};

// Shared, and writable unless the caller says otherwise; fd -1 gives private zeroed memory. Page-aligned.
absl::StatusOr<Mapping> Map(int fd, size_t size, bool writable = true);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_MAPPING_H_
