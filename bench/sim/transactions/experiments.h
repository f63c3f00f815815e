// FLOCK's thesis, 4.5.2: FlockTX beside FaSST, on TATP and on Smallbank.
#ifndef SKEIN_BENCH_SIM_TRANSACTIONS_EXPERIMENTS_H_
#define SKEIN_BENCH_SIM_TRANSACTIONS_EXPERIMENTS_H_

#include <cstdint>
#include <vector>

#include "bench/sim/points.h"

namespace skein::bench {

std::vector<Point> TransactionExperiments(uint64_t seed, bool quick);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_TRANSACTIONS_EXPERIMENTS_H_
