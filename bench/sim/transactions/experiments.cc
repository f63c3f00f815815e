#include "bench/sim/transactions/experiments.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/sim/costs.h"
#include "bench/sim/scenario.h"
#include "bench/sim/scenario_points.h"
#include "bench/sim/transactions/run.h"

namespace skein::bench {
namespace {

struct TransactionPoint {
  std::string experiment;
  std::string series;
  size_t x = 0;
  Scenario scenario;
  Mix mix;
  Protocol protocol;
  bool ud = false;

  absl::StatusOr<Outcome> Run() const {
    const Costs costs = Calibrated();
    return ud ? RunUdTransactions(scenario, costs, mix, protocol)
              : RunFlockTransactions(scenario, costs, mix, protocol);
  }
};

}  // namespace

std::vector<Point> TransactionExperiments(uint64_t seed, bool quick) {
  std::vector<TransactionPoint> points;
  for (const auto& [mix, name] : {std::pair(Mix::kTatp, "TATP"), std::pair(Mix::kSmallbank, "Smallbank")}) {
    for (const size_t threads : quick ? std::vector<size_t>{1, 8} : std::vector<size_t>{1, 2, 4, 8, 16, 32}) {
      Scenario scenario;
      scenario.hosts = 20;
      scenario.threads = threads;
      scenario.outstanding = 19;
      const auto add = [&, mix = mix](std::string series, bool ud, const Protocol& protocol) {
        points.push_back({name, std::move(series), threads, scenario, mix, protocol, ud});
      };
      add("FlockTX", false, {.one_sided = true});
      add("FaSST", true, {.one_sided = false});
      if (quick) continue;
      add("FlockTX, all by calls", false, {.one_sided = false});
      add("FaSST, log apart", true, {.one_sided = false, .log_apart = true});
    }
  }
  return PointsOf(std::move(points), seed, quick);
}

}  // namespace skein::bench
