// FLOCK's thesis, 4.6: an ordered index behind FLOCK's calls and behind eRPC's.
#ifndef SKEIN_BENCH_SIM_INDEX_H_
#define SKEIN_BENCH_SIM_INDEX_H_

#include <cstdint>
#include <vector>

#include "bench/sim/points.h"

namespace skein::bench {

std::vector<Point> IndexExperiments(uint64_t seed, bool quick);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_INDEX_H_
