// Runs the micro-benchmark of SC'21 on simulated time and prints its outcomes as JSON. The same seed gives the same
// output, on any number of cores.
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/durable/experiments.h"
#include "bench/in_parallel.h"

ABSL_FLAG(uint64_t, seed, 20261, "of all chance");
ABSL_FLAG(bool, quick, false, "fewer points and operations: is it so, not how much is it");

namespace skein::bench::durable {
namespace {

std::string Json(absl::string_view name, const Latency& latency) {
  return absl::StrFormat(R"("%s": {"p50_us": %.3f, "p99_us": %.3f, "mean_us": %.3f})", name, latency.p50_us,
                         latency.p99_us, latency.mean_us);
}
std::string Json(const Point& point, const Outcome& outcome) {
  const Scenario& scenario = point.scenario;
  return absl::StrFormat(
      R"({"experiment": "%s", "exchange": "%s", "object_bytes": %d, "load": "%s", "read_percent": %d, "batch": %d, )"
      R"("senders": %d, "kops": %.3f, %s, %s, %s, %s})",
      point.experiment, scenario.exchange, scenario.object_bytes, scenario.heavy ? "heavy" : "light",
      scenario.read_percent, scenario.batch, scenario.senders, outcome.operations_per_second / 1e3,
      Json("all", outcome.all), Json("write", outcome.write), Json("read", outcome.read), Json("reply", outcome.reply));
}

int Main() {
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  const std::vector<Point> points = Experiments(seed, absl::GetFlag(FLAGS_quick));
  const std::vector<absl::StatusOr<Outcome>> outcomes = InParallel<Outcome>(
      points.size(), [&, costs = PaperMachine()](size_t i) { return Run(points[i].scenario, costs); });
  std::vector<std::string> lines;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!outcomes[i].ok()) {
      std::cerr << points[i].experiment << ", " << points[i].scenario.exchange << ", seed " << seed << ": "
                << outcomes[i].status() << '\n';
      return 1;
    }
    lines.push_back(Json(points[i], *outcomes[i]));
  }
  std::cout << "{\"seed\": " << seed << ", \"runs\": [\n" << absl::StrJoin(lines, ",\n") << "\n]}\n";
  return 0;
}

}  // namespace
}  // namespace skein::bench::durable

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return skein::bench::durable::Main();
}
