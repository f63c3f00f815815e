#include "core/durable/log/checksum.h"

#include <zlib.h>

namespace skein::durable {

uint32_t Checksum(uint32_t before, absl::string_view bytes) {
  if (bytes.empty()) return before;  // of a null pointer zlib says 0
  return static_cast<uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace skein::durable
