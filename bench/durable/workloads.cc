// The senders' workloads, by name: the micro-benchmark, YCSB, PageRank.
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/durable/page_rank.h"
#include "bench/durable/scenario.h"
#include "bench/durable/ycsb.h"

namespace skein::bench::durable {
namespace {

// Objects of one size, read or written.
class MicroBenchmark final : public Workload {
 public:
  MicroBenchmark(const Scenario& scenario, const Costs& costs)
      : scenario_(scenario), costs_(costs), zipfian_(scenario.objects, scenario.skew) {}

  std::optional<Step> Next(fabric::sim::Random& random) override {
    Step step;
    for (size_t i = 0; i < scenario_.batch; ++i) {
      Operation& operation = step.requests.emplace_back();
      operation.object = zipfian_.Draw(random);
      operation.is_write = random.Next() % 100 >= scenario_.read_percent ? 1 : 0;
      operation.object_bytes = scenario_.object_bytes;
      step.thinks += costs_.cpu.application + random.Exponential(costs_.cpu.noise);
    }
    return step;
  }

 private:
  const Scenario& scenario_;
  const Costs& costs_;
  const Zipfian zipfian_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const Scenario& scenario, const Costs& costs) {
  const std::string& name = scenario.application;
  if (name.empty()) return std::make_unique<MicroBenchmark>(scenario, costs);
  if (const YcsbMix* const mix = YcsbMixOf(name)) {
    return std::make_unique<YcsbWorkload>(Ycsb(*mix, static_cast<uint32_t>(scenario.objects), scenario.skew),
                                          scenario.object_bytes, scenario.ahead, costs.cpu.application,
                                          costs.cpu.noise);
  }
  if (const GraphSize* const graph = GraphSizeOf(name)) {
    return std::make_unique<PageRankWorkload>(*graph, scenario.seed, scenario.ahead, costs.cpu.application, costs.edge);
  }
  return absl::InvalidArgumentError(absl::StrCat("no application is called \"", name, "\""));
}

}  // namespace skein::bench::durable
