// FLOCK's experiments (thesis, 2.2 and 4.3 to 4.4) as runs of the model.
#ifndef SKEIN_BENCH_SIM_EXPERIMENTS_H_
#define SKEIN_BENCH_SIM_EXPERIMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/sim/scenario.h"

namespace skein::bench {

struct Point {
  std::string experiment;
  std::string series;
  size_t x = 0;  // of the experiment's plot
  Scenario scenario;
  size_t reads = 0;  // queue pairs that READ; 0: requests and responses
};

// `quick`: the points that the claims are about, and less simulated time for each.
std::vector<Point> Experiments(uint64_t seed, bool quick);

absl::StatusOr<Outcome> Run(const Point& point, const Costs& costs);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_EXPERIMENTS_H_
