// All chance of a run, from its seed; the same in every build, which std's distributions do not promise.
#ifndef SKEIN_TESTS_CHAOS_DICE_H_
#define SKEIN_TESTS_CHAOS_DICE_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/time/time.h"

namespace skein::chaos {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t Next() { return engine_(); }
  uint64_t Below(uint64_t bound) { return engine_() % bound; }  // bound: 1 at least
  uint64_t Between(uint64_t least, uint64_t most) { return least + Below(most - least + 1); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    return least + absl::Nanoseconds(Below(static_cast<uint64_t>(absl::ToInt64Nanoseconds(most - least)) + 1));
  }
  template <class T>
  T& Pick(std::vector<T>& from) {
    return from[Below(from.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_DICE_H_
