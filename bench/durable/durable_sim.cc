// Runs SC'21's micro-benchmark, or its applications and what goes with them, on simulated time, and prints the outcomes
// as JSON. The same seed gives the same output, on any number of cores.
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/durable/experiments.h"
#include "bench/durable/recovery.h"
#include "bench/in_parallel.h"

ABSL_FLAG(uint64_t, seed, 20261, "of all chance");
ABSL_FLAG(bool, applications, false, "YCSB, PageRank, crashes and sensitivity for the micro-benchmark");
ABSL_FLAG(std::string, experiment, "", "only that of this name");
ABSL_FLAG(bool, quick, false, "fewer points and operations: is it so, not how much is it");

namespace skein::bench::durable {
namespace {

std::string Json(absl::string_view name, const Latency& latency) {
  return absl::StrFormat(R"("%s": {"p50_us": %.3f, "p99_us": %.3f, "mean_us": %.3f})", name, latency.p50_us,
                         latency.p99_us, latency.mean_us);
}
// Neighbours on the same cores, or on the same wire.
absl::string_view Beside(const Scenario& scenario) {
  if (scenario.background > 0) return "network";
  if (scenario.busy_receiver) return "receiver";
  return scenario.busy_sender ? "sender" : "";
}
std::string Json(const Point& point) {
  const Scenario& scenario = point.scenario;
  return absl::StrFormat(
      R"("experiment": "%s", "exchange": "%s", "object_bytes": %d, "load": "%s", "read_percent": %d, "batch": %d, )"
      R"("senders": %d, "application": "%s", "ahead": %d, "beside": "%s", "media": %g)",
      point.experiment, scenario.exchange, scenario.object_bytes, scenario.heavy ? "heavy" : "light",
      scenario.read_percent, scenario.batch, scenario.senders, scenario.application, scenario.ahead, Beside(scenario),
      scenario.media);
}
std::string Json(const Outcome& outcome) {
  return absl::StrFormat(R"("kops": %.3f, "seconds": %.6f, "sender_us": %.3f, "receiver_us": %.3f, %s, %s, %s, %s, %s)",
                         outcome.operations_per_second / 1e3, outcome.seconds, outcome.sender_us, outcome.receiver_us,
                         Json("all", outcome.all), Json("write", outcome.write), Json("read", outcome.read),
                         Json("reply", outcome.reply), Json("operation", outcome.operation));
}
std::string Json(const RecoveryOutcome& outcome) {
  return absl::StrFormat(R"("waits_ms": %.3f, "sent_again": %.2f, "from_log": %.2f, "kept": %.2f, "forgotten": %d)",
                         outcome.waits_ms, outcome.sent_again, outcome.from_log, outcome.kept, outcome.forgotten);
}

// A point's figures; of a crash, behind those of a run without.
absl::StatusOr<std::string> Figures(const Point& point, const Costs& costs, bool quick) {
  const absl::StatusOr<Outcome> outcome = Run(point.scenario, costs);
  if (!outcome.ok()) return outcome.status();
  if (point.experiment != "recovery") return Json(*outcome);
  const absl::StatusOr<RecoveryOutcome> recovery = RunRecovery(point.scenario, costs, quick ? 10 : 100);
  if (!recovery.ok()) return recovery.status();
  return absl::StrCat(Json(*outcome), ", ", Json(*recovery));
}

std::vector<Point> Points(uint64_t seed, bool quick) {
  const bool applications = absl::GetFlag(FLAGS_applications);
  std::vector<Point> points = applications ? Applications(seed, quick) : Experiments(seed, quick);
  if (applications) absl::c_move(Recoveries(seed, quick), std::back_inserter(points));
  const std::string only = absl::GetFlag(FLAGS_experiment);
  std::erase_if(points, [&](const Point& point) { return !only.empty() && point.experiment != only; });
  return points;
}

int Main() {
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  const bool quick = absl::GetFlag(FLAGS_quick);
  const std::vector<Point> points = Points(seed, quick);
  const std::vector<absl::StatusOr<std::string>> figures = InParallel<std::string>(
      points.size(), [&, costs = PaperMachine()](size_t i) { return Figures(points[i], costs, quick); });
  std::vector<std::string> lines;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!figures[i].ok()) {
      std::cerr << Json(points[i]) << ", seed " << seed << ": " << figures[i].status() << '\n';
      return 1;
    }
    lines.push_back(absl::StrCat("{", Json(points[i]), ", ", *figures[i], "}"));
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
