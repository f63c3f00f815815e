#include "bench/sim/index.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/sim/costs.h"
#include "bench/sim/scenario.h"
#include "bench/sim/scenario_points.h"
#include "bench/sim/ud/run.h"

namespace skein::bench {
namespace {

struct IndexPoint {
  std::string experiment;
  std::string series;
  size_t x = 0;
  Scenario scenario;
  bool ud = false;

  absl::StatusOr<Outcome> Run() const {
    Costs costs = Calibrated();
    costs.cpu.handler = costs.index.get;
    return ud ? RunUd(scenario, costs) : bench::Run(scenario, costs);
  }
};

}  // namespace

std::vector<Point> IndexExperiments(uint64_t seed, bool quick) {
  std::vector<IndexPoint> points;
  const std::vector<size_t> all = {1, 2, 4, 8, 16, 24, 32};
  const std::vector<size_t> few = {8, 32};
  for (const size_t outstanding : quick ? std::vector<size_t>{8} : std::vector<size_t>{1, 4, 8}) {
    for (const size_t threads : quick ? few : all) {
      Scenario scenario;
      scenario.hosts = 22;
      scenario.threads = threads;
      scenario.outstanding = outstanding;
      scenario.bytes = 8;
      scenario.scan_percent = 10;
      const std::string experiment = absl::StrCat("index, ", outstanding, " outstanding");
      points.push_back({experiment, "FLOCK", threads, scenario, false});
      points.push_back({experiment, "UD", threads, scenario, true});
    }
  }
  return PointsOf(std::move(points), seed, quick);
}

}  // namespace skein::bench
