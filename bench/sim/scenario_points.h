// Points that run a scenario: FLOCK's own, and those of eRPC beside them.
#ifndef SKEIN_BENCH_SIM_SCENARIO_POINTS_H_
#define SKEIN_BENCH_SIM_SCENARIO_POINTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/sim/measure.h"
#include "bench/sim/points.h"
#include "bench/sim/scenario.h"

namespace skein::bench {

// A ScenarioPoint has experiment, series and x as a Point has, a scenario, and Run() for its outcome. The seed is for
// all.
template <typename ScenarioPoint>
std::vector<Point> PointsOf(std::vector<ScenarioPoint> points, uint64_t seed, bool quick) {
  std::vector<Point> all;
  for (ScenarioPoint& point : points) {
    point.scenario.seed = seed;
    if (quick) point.scenario = Quick(point.scenario);
    all.push_back({point.experiment, point.series, point.x, [point]() -> absl::StatusOr<std::string> {
                     const absl::StatusOr<Outcome> outcome = point.Run();
                     if (!outcome.ok()) return outcome.status();
                     return Members(*outcome);
                   }});
  }
  return all;
}

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SCENARIO_POINTS_H_
