// Numbers in network byte order, in text.
#ifndef SKEIN_CORE_WIRE_BIG_ENDIAN_H_
#define SKEIN_CORE_WIRE_BIG_ENDIAN_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace skein::wire {

// Of at most four bytes.
inline uint32_t BigEndian(absl::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

inline void PutBigEndian(std::string& out, uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_BIG_ENDIAN_H_
