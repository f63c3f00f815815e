#include "core/fabric/sim/words.h"

#include <cstring>
#include <utility>

namespace skein::fabric::sim {
namespace {

// The program may know this memory under any type, so the compiler must not reason by type here; hence also the
// builtins: std::atomic_ref drops the attribute.
using Word [[gnu::may_alias]] = uint64_t;
constexpr size_t kWord = sizeof(Word);

bool Aligned(const std::byte* at) { return reinterpret_cast<uintptr_t>(at) % kWord == 0; }

}  // namespace

void StoreWords(std::byte* to, const std::byte* from, size_t size) {
  while (size > 0) {
    if (Aligned(to) && size >= kWord) {
      uint64_t value = 0;
      std::memcpy(&value, from, kWord);
      __atomic_store_n(reinterpret_cast<Word*>(to), value, __ATOMIC_RELEASE);
      to += kWord, from += kWord, size -= kWord;
    } else {
      __atomic_store_n(reinterpret_cast<unsigned char*>(to), std::to_integer<unsigned char>(*from), __ATOMIC_RELEASE);
      ++to, ++from, --size;
    }
  }
}

void LoadWords(std::byte* to, const std::byte* from, size_t size) {
  while (size > 0) {
    if (Aligned(from) && size >= kWord) {
      const uint64_t value = __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_ACQUIRE);
      std::memcpy(to, &value, kWord);
      to += kWord, from += kWord, size -= kWord;
    } else {
      *to = std::byte{__atomic_load_n(reinterpret_cast<const unsigned char*>(from), __ATOMIC_ACQUIRE)};
      ++to, ++from, --size;
    }
  }
}

uint64_t FetchAddWord(std::byte* word, uint64_t addend) {
  return __atomic_fetch_add(reinterpret_cast<Word*>(word), addend, __ATOMIC_ACQ_REL);
}

uint64_t CompareSwapWord(std::byte* word, uint64_t expected, uint64_t desired) {
  // On failure the builtin leaves the value found in `expected`; on success it was that already.
  Word found = expected;
  __atomic_compare_exchange_n(reinterpret_cast<Word*>(word), &found, desired, /*weak=*/false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return found;
}

absl::InlinedVector<Piece, 3> PlanLanding(const std::byte* to, size_t size, Random& random) {
  const size_t tail = size >= kWord && Aligned(to + size) ? kWord : 0;
  const size_t body = size - tail;
  const size_t cut = random.Below(body + 1);
  Piece first{0, cut};
  Piece second{cut, body - cut};
  if (random.Below(2) == 0) std::swap(first, second);

  absl::InlinedVector<Piece, 3> plan;
  for (const Piece& piece : {first, second, Piece{body, tail}}) {
    if (piece.size > 0) plan.push_back(piece);
  }
  return plan;
}

}  // namespace skein::fabric::sim
