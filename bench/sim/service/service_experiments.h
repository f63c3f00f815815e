// RaaS's figures 6 to 9, and 10,000 processes of 100 hosts, as runs of the model.
#ifndef SKEIN_BENCH_SIM_SERVICE_SERVICE_EXPERIMENTS_H_
#define SKEIN_BENCH_SIM_SERVICE_SERVICE_EXPERIMENTS_H_

#include <cstdint>
#include <vector>

#include "bench/sim/points.h"

namespace skein::bench {

std::vector<Point> ServiceExperiments(uint64_t seed, bool quick);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVICE_SERVICE_EXPERIMENTS_H_
