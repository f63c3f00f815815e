// Little-endian fields in and out of byte strings, with bounds checked.
#ifndef SKEIN_CORE_WIRE_BYTES_H_
#define SKEIN_CORE_WIRE_BYTES_H_

#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein::wire {

static_assert(std::endian::native == std::endian::little, "the formats are written for little-endian machines");

template <typename T>
void Put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Of bytes that a peer may still write: copied once, and what is looked at is the copy.
inline std::string CopyOf(absl::Span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Takes fields off the front; after the first that is not there, ok() is false and all others are zero.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const absl::string_view field = TakeBytes(sizeof(T));
    if (field.size() == sizeof(T)) std::memcpy(&value, field.data(), sizeof(T));
    return value;
  }
  absl::string_view TakeBytes(size_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const absl::string_view field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }
  absl::string_view TakeRest() { return TakeBytes(rest_.size()); }
  bool ok() const { return ok_; }
  // All fields were there and nothing is left.
  bool done() const { return ok_ && rest_.empty(); }

 private:
  absl::string_view rest_;
  bool ok_ = true;
};

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_BYTES_H_
