// FLOCK's experiments (thesis, 2.2 and 4.3 to 4.4) as runs of the model.
#ifndef SKEIN_BENCH_SIM_EXPERIMENTS_H_
#define SKEIN_BENCH_SIM_EXPERIMENTS_H_

#include <cstdint>
#include <vector>

#include "bench/sim/points.h"

namespace skein::bench {

std::vector<Point> FlockExperiments(uint64_t seed, bool quick);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_EXPERIMENTS_H_
