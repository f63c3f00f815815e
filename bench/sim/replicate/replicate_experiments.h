// RDMC's experiments on the model: all runs.
#ifndef SKEIN_BENCH_SIM_REPLICATE_REPLICATE_EXPERIMENTS_H_
#define SKEIN_BENCH_SIM_REPLICATE_REPLICATE_EXPERIMENTS_H_

#include <cstdint>
#include <vector>

#include "bench/sim/points.h"

namespace skein::bench {

// Nothing here is chance: every seed has the same outcome.
std::vector<Point> ReplicateExperiments(uint64_t seed, bool quick);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_REPLICATE_REPLICATE_EXPERIMENTS_H_
