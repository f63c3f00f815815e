#include "core/durable/flush/fast_checksum.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace skein::durable {
namespace {

constexpr size_t kLanes = 4;
constexpr size_t kWord = sizeof(uint64_t);

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint64_t Mix(uint64_t x) {  // SplitMix64's
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint32_t PlainWord(uint32_t crc, uint64_t word) {
  for (size_t i = 0; i < kWord; ++i, word >>= 8) crc = (crc >> 8) ^ kTable[(crc ^ word) & 0xff];
  return crc;
}

uint64_t WordAt(const char* at, size_t bytes = kWord) {
  uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}

// The header first, then the payload's whole words, each into the next lane, and what is left with zeros behind it.
// `step` puts a word into a lane.
template <typename Step>
[[gnu::always_inline]] inline uint32_t Lanes(absl::string_view header, absl::string_view payload, Step step) {
  uint32_t lanes[kLanes] = {~0u, ~0u, ~0u, ~0u};
  for (const absl::string_view part : {header, payload}) {
    const char* at = part.data();
    const char* const end = at + part.size();
    for (; static_cast<size_t>(end - at) >= kLanes * kWord; at += kLanes * kWord) {
      lanes[0] = step(lanes[0], WordAt(at));
      lanes[1] = step(lanes[1], WordAt(at + kWord));
      lanes[2] = step(lanes[2], WordAt(at + 2 * kWord));
      lanes[3] = step(lanes[3], WordAt(at + 3 * kWord));
    }
    for (size_t lane = 0; at != end; ++lane) {
      const size_t bytes = static_cast<size_t>(end - at) < kWord ? static_cast<size_t>(end - at) : kWord;
      lanes[lane] = step(lanes[lane], WordAt(at, bytes));
      at += bytes;
    }
  }
  const uint64_t sizes = uint64_t{header.size()} << 32 ^ payload.size();
  // Not by a CRC once more: that is linear, and what changed in two lanes could cancel out.
  const uint64_t first = Mix(Mix(sizes) ^ (uint64_t{lanes[1]} << 32 | lanes[0]));
  return static_cast<uint32_t>(Mix(first ^ (uint64_t{lanes[3]} << 32 | lanes[2])));
}

#if defined(__x86_64__)
// By hand: the compiler's builtin cannot be inlined into what is compiled for processors without it.
[[gnu::always_inline]] inline uint32_t InstructionWord(uint32_t crc, uint64_t word) {
  uint64_t wide = crc;
  asm("crc32q %1, %0" : "+r"(wide) : "rm"(word));
  return static_cast<uint32_t>(wide);
}
bool HasInstruction() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}
#endif

}  // namespace

uint32_t PlainFastChecksum(absl::string_view header, absl::string_view payload) {
  return Lanes(header, payload, PlainWord);
}

uint32_t FastChecksum(absl::string_view header, absl::string_view payload) {
#if defined(__x86_64__)
  if (HasInstruction())
    return Lanes(header, payload, [](uint32_t crc, uint64_t word) { return InstructionWord(crc, word); });
#endif
  return PlainFastChecksum(header, payload);
}

uint32_t Crc32c(absl::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

}  // namespace skein::durable
