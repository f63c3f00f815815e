// Bytes of which each depends on its place and on its message: lost, moved or repeated ones show.
#ifndef SKEIN_TESTS_LOAD_PATTERN_H_
#define SKEIN_TESTS_LOAD_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace skein::load {

inline std::string Pattern(size_t size, uint32_t message) {
  std::string data(size, '\0');
  uint32_t x = message * 2654435761u + 1;
  for (char& byte : data) {
    x = x * 1664525u + 1013904223u;
    byte = static_cast<char>(x >> 24);
  }
  return data;
}

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_PATTERN_H_
