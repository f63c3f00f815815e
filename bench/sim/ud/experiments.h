// eRPC's way beside FLOCK's: series for FLOCK's experiments, and sweeps of what nobody has published.
#ifndef SKEIN_BENCH_SIM_UD_EXPERIMENTS_H_
#define SKEIN_BENCH_SIM_UD_EXPERIMENTS_H_

#include <cstdint>
#include <vector>

#include "bench/sim/points.h"

namespace skein::bench {

std::vector<Point> UdExperiments(uint64_t seed, bool quick);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_EXPERIMENTS_H_
