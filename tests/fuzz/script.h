// An input as a script: what a peer does, step by step, in any order.
#ifndef SKEIN_TESTS_FUZZ_SCRIPT_H_
#define SKEIN_TESTS_FUZZ_SCRIPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/wire/bytes.h"

namespace skein::fuzz {

// Numbers are zeros, and pieces empty, once the input is at its end.
class Script {
 public:
  explicit Script(absl::string_view input) : rest_(input) {}

  bool done() const { return rest_.empty(); }
  template <typename T>
  T Take() {
    T value{};
    const absl::string_view bytes = TakeBytes(sizeof(T));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // One of so many.
  size_t Choice(size_t of) { return Take<uint8_t>() % of; }
  // u16 size, bytes.
  absl::string_view Piece() { return TakeBytes(Take<uint16_t>()); }

 private:
  absl::string_view TakeBytes(size_t size) {
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  absl::string_view rest_;
};

// The other way round, for seeds: Say(kWrite, uint16_t{7}, Piece("bytes")).
inline std::string Piece(absl::string_view bytes) {
  std::string piece;
  wire::Put(piece, static_cast<uint16_t>(bytes.size()));
  piece.append(bytes.data(), bytes.size());
  return piece;
}
inline void PutPart(std::string& out, const std::string& part) { out += part; }
template <typename T>
requires std::is_trivially_copyable_v<T>
void PutPart(std::string& out, T number) { wire::Put(out, number); }
template <typename Step, typename... Parts>
std::string Say(Step step, const Parts&... parts) {
  std::string said;
  wire::Put(said, static_cast<uint8_t>(step));
  (PutPart(said, parts), ...);
  return said;
}

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_SCRIPT_H_
