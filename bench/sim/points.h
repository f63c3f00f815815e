// A program that runs experiments on the model and prints their outcomes as JSON. The same seed gives the same output,
// on any number of cores.
#ifndef SKEIN_BENCH_SIM_POINTS_H_
#define SKEIN_BENCH_SIM_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace skein::bench {

struct Point {
  std::string experiment;
  std::string series;
  size_t x = 0;  // of the experiment's plot
  // The outcome, as members of a JSON object. Any thread; points run at the same time.
  std::function<absl::StatusOr<std::string>()> run;
};

// `quick`: the points that the claims are about, and less simulated time for each.
using Experiments = std::vector<Point> (*)(uint64_t seed, bool quick);

int Main(int argc, char** argv, Experiments experiments);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_POINTS_H_
