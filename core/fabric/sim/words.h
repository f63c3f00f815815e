// Memory as a NIC touches it: word by word, each word whole, beside a program that may look at it meanwhile.
#ifndef SKEIN_CORE_FABRIC_SIM_WORDS_H_
#define SKEIN_CORE_FABRIC_SIM_WORDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "core/fabric/sim/random.h"

namespace skein::fabric::sim {

// Copies upwards. Each aligned word (each byte, at ragged ends) of `to` is one release store; it pairs with the acquire
// load of a program that polls the memory.
void StoreWords(std::byte* to, const std::byte* from, size_t size);
// Each aligned word of `from` is one acquire load; pairs with the release stores of a program that writes meanwhile.
void LoadWords(std::byte* to, const std::byte* from, size_t size);

// 8 bytes, aligned; they return the old value. Acquire and release, paired with the program's own atomics on the word.
uint64_t FetchAddWord(std::byte* word, uint64_t addend);
uint64_t CompareSwapWord(std::byte* word, uint64_t expected, uint64_t desired);

// In which pieces, one after the other, a WRITE of `size` bytes to `to` becomes visible: any order, but for its last
// eight bytes, which are last when they are one aligned word.
struct Piece {
  size_t offset = 0;
  size_t size = 0;
};
absl::InlinedVector<Piece, 3> PlanLanding(const std::byte* to, size_t size, Random& random);

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_WORDS_H_
