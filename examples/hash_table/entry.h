// One entry of the table, as it lies in the server's memory and as a client reads it: while the server may be writing
// it, and in whatever order the bytes come. So it carries a checksum over all of itself, and a reader that finds it
// wrong reads again.
#ifndef SKEIN_EXAMPLES_HASH_TABLE_ENTRY_H_
#define SKEIN_EXAMPLES_HASH_TABLE_ENTRY_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace skein::hash_table {

inline constexpr size_t kMaxKey = 23;
inline constexpr size_t kMaxValue = 79;
inline constexpr uint32_t kRegion = 1;
inline constexpr uint32_t kPut = 1;  // handler; the request is an Entry, whose checksum does not matter

// Both ends are on machines of the same byte order.
struct Entry {
  uint64_t checksum = 0;
  uint64_t version = 0;  // 0: nobody has ever used it
  uint8_t key_size = 0;
  char key[kMaxKey] = {};
  uint8_t value_size = 0;
  char value[kMaxValue] = {};

  absl::string_view key_text() const { return {key, key_size <= kMaxKey ? key_size : 0u}; }
  absl::string_view value_text() const { return {value, value_size <= kMaxValue ? value_size : 0u}; }
};
static_assert(sizeof(Entry) == 120);

// FNV-1a, which is the same in every process.
inline uint64_t HashOf(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

inline uint64_t ChecksumOf(const Entry& entry) {
  const auto* bytes = reinterpret_cast<const char*>(&entry);
  return HashOf({bytes + sizeof(entry.checksum), sizeof(entry) - sizeof(entry.checksum)});
}

// False: too long.
inline bool Fill(Entry& entry, absl::string_view key, absl::string_view value) {
  if (key.empty() || key.size() > kMaxKey || value.size() > kMaxValue) return false;
  entry.key_size = static_cast<uint8_t>(key.size());
  std::memcpy(entry.key, key.data(), key.size());
  entry.value_size = static_cast<uint8_t>(value.size());
  if (!value.empty()) std::memcpy(entry.value, value.data(), value.size());
  return true;
}

}  // namespace skein::hash_table

#endif  // SKEIN_EXAMPLES_HASH_TABLE_ENTRY_H_
