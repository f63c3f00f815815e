// All runs: of the micro-benchmark, the paper's figures 8, 9, 17, 18 and 19; of the applications, 10 to 16 and 20.
#ifndef SKEIN_BENCH_DURABLE_EXPERIMENTS_H_
#define SKEIN_BENCH_DURABLE_EXPERIMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/durable/scenario.h"

namespace skein::bench::durable {

struct Point {
  std::string experiment;
  Scenario scenario;
};

// Quick: what the claims need, with fewer operations.
std::vector<Point> Experiments(uint64_t seed, bool quick);
std::vector<Point> Applications(uint64_t seed, bool quick);
// For RunRecovery.
std::vector<Point> Recoveries(uint64_t seed, bool quick);

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_EXPERIMENTS_H_
