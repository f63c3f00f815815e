// Checksums over structs and bytes.
#ifndef SKEIN_CORE_DURABLE_LOG_CHECKSUM_H_
#define SKEIN_CORE_DURABLE_LOG_CHECKSUM_H_

#include <bit>
#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein::durable {

static_assert(std::endian::native == std::endian::little, "the format is written for little-endian machines");

// CRC-32 as in zlib, of `bytes` after what gave `before`; 0 at the start.
uint32_t Checksum(uint32_t before, absl::string_view bytes);

// A struct of the format as it lies in the storage.
template <typename T>
absl::string_view BytesOf(const T& value) {
  static_assert(std::has_unique_object_representations_v<T>, "no padding: it would be written, too");
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
template <typename T>
absl::Span<char> MutableBytesOf(T& value) {
  static_assert(std::has_unique_object_representations_v<T>);
  return {reinterpret_cast<char*>(&value), sizeof(value)};
}

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_CHECKSUM_H_
