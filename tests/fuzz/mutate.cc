#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace skein::fuzz {
namespace {

constexpr size_t kMaxBytes = 64 << 10;
// Where lengths, counts and positions go wrong.
constexpr uint64_t kNumbers[] = {0,
                                 1,
                                 7,
                                 8,
                                 15,
                                 16,
                                 63,
                                 64,
                                 255,
                                 256,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000,
                                 0xfffffff8,
                                 0xffffffff,
                                 uint64_t{1} << 32,
                                 uint64_t{1} << 63,
                                 UINT64_MAX - 63,
                                 UINT64_MAX};

// Standard distributions differ between libraries.
size_t Below(std::mt19937_64& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

void PutNumber(std::string& bytes, std::mt19937_64& random) {
  const size_t width = size_t{1} << Below(random, 4);
  if (bytes.size() < width) return;
  // Mostly where fields begin.
  size_t at = Below(random, bytes.size() - width + 1);
  if (Below(random, 4) > 0) at -= at % width;
  uint64_t number = kNumbers[Below(random, std::size(kNumbers))];
  if (Below(random, 3) == 0) {
    uint64_t old = 0;
    std::memcpy(&old, bytes.data() + at, width);
    number = old + Below(random, 33) - 16;
  }
  std::memcpy(bytes.data() + at, &number, width);
}

void Change(std::string& bytes, const std::vector<std::string>& seeds, std::mt19937_64& random) {
  const size_t at = Below(random, bytes.size());
  const size_t some = 1 + Below(random, 1 + Below(random, 64));
  switch (Below(random, 8)) {
    case 0:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(random, 8)));
      break;
    case 1:
      if (!bytes.empty()) bytes[at] = static_cast<char>(random());
      break;
    case 2:
    case 3:
      PutNumber(bytes, random);
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes.erase(at, some);
      break;
    case 6:
      bytes.insert(at, bytes.substr(Below(random, bytes.size() + 1), some));
      break;
    default: {
      const std::string& other = seeds[Below(random, seeds.size())];
      bytes.replace(at, some, other.substr(Below(random, other.size() + 1), some));
    }
  }
  bytes.resize(std::min(bytes.size(), kMaxBytes));
}

}  // namespace

std::string Mutant(const std::vector<std::string>& seeds, std::mt19937_64& random) {
  std::string bytes = seeds[Below(random, seeds.size())];
  for (size_t changes = 1 + Below(random, 1 + Below(random, 6)); changes > 0; --changes) Change(bytes, seeds, random);
  return bytes;
}

}  // namespace skein::fuzz
