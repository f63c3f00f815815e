// Runs FLOCK's experiments on the model and prints their outcomes as JSON. The same seed gives the same output, on any
// number of cores.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/sim/costs.h"
#include "bench/sim/experiments.h"

ABSL_FLAG(uint64_t, seed, 20261, "of all chance");
ABSL_FLAG(std::string, only, "", "experiments whose names begin so");
ABSL_FLAG(bool, quick, false, "fewer points and less simulated time: is it so, not how much is it");

namespace skein::bench {
namespace {

// Each run is on its own; only their order is shared.
std::vector<absl::StatusOr<Outcome>> RunAll(const std::vector<Point>& points, const Costs& costs) {
  std::vector<absl::StatusOr<Outcome>> outcomes(points.size(), absl::UnknownError("not run"));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < points.size(); i = next++) {
      outcomes[i] = Run(points[i], costs);
      std::cerr << '.' << std::flush;
    }
  };
  std::vector<std::thread> threads;
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  for (unsigned i = 0; i < cores; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::cerr << '\n';
  return outcomes;
}

std::string Json(const Point& point, const Outcome& outcome) {
  return absl::StrFormat(
      R"({"experiment": "%s", "series": "%s", "x": %d, "mrps": %.4f, "requests_per_message": %.4f, )"
      R"("requests_per_response": %.4f, "p50_us": %.3f, "p99_us": %.3f, "active_queue_pairs": %.0f, )"
      R"("nic_misses": %.4f, "server_busy": %.4f})",
      point.experiment, point.series, point.x, outcome.requests_per_second / 1e6, outcome.requests_per_message,
      outcome.requests_per_response, outcome.p50_us, outcome.p99_us, outcome.active_queue_pairs, outcome.nic_misses,
      outcome.server_busy);
}

int Main() {
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  std::vector<Point> points = Experiments(seed, absl::GetFlag(FLAGS_quick));
  const std::string only = absl::GetFlag(FLAGS_only);
  std::erase_if(points, [&](const Point& point) { return !absl::StartsWith(point.experiment, only); });
  const std::vector<absl::StatusOr<Outcome>> outcomes = RunAll(points, Calibrated());
  std::vector<std::string> lines;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!outcomes[i].ok()) {
      std::cerr << points[i].experiment << ", " << points[i].series << ", " << points[i].x << ", seed " << seed << ": "
                << outcomes[i].status() << '\n';
      return 1;
    }
    lines.push_back(Json(points[i], *outcomes[i]));
  }
  std::cout << "{\"seed\": " << seed << ", \"runs\": [\n" << absl::StrJoin(lines, ",\n") << "\n]}\n";
  return 0;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return skein::bench::Main();
}
