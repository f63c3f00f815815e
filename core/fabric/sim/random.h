// The simulation's only source of chance.
#ifndef SKEIN_CORE_FABRIC_SIM_RANDOM_H_
#define SKEIN_CORE_FABRIC_SIM_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace skein::fabric::sim {

// Not absl::BitGen nor a std distribution: a seed printed by one build must mean the same run in another. The bias of
// the remainder does not matter here.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Next() { return engine_(); }
  // At least 0, less than 1.
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : engine_() % bound; }
  absl::Duration Below(absl::Duration bound) {
    return absl::Nanoseconds(Below(static_cast<uint64_t>(absl::ToInt64Nanoseconds(bound)) + 1));
  }
  absl::Duration Exponential(absl::Duration mean) { return -mean * std::log1p(-Fraction()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_RANDOM_H_
