// Property tests run once for each of a few fixed seeds; a failure prints its own.
#ifndef SKEIN_TESTS_SUPPORT_SEEDS_H_
#define SKEIN_TESTS_SUPPORT_SEEDS_H_

#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein {

inline constexpr uint64_t kSeeds = 40;

// From 0 to `most`.
inline uint64_t Draw(std::mt19937_64& random, uint64_t most) { return random() % (most + 1); }

// Calls property(random) for each seed, until one has failed.
template <typename Property>
void ForEachSeed(Property property) {
  for (uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    property(random);
  }
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_SEEDS_H_
