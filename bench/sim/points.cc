#include "bench/sim/points.h"

#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/in_parallel.h"

ABSL_FLAG(uint64_t, seed, 20261, "of all chance");
ABSL_FLAG(std::string, only, "", "experiments whose names begin so");
ABSL_FLAG(bool, quick, false, "fewer points and less simulated time: is it so, not how much is it");

namespace skein::bench {
namespace {}  // namespace

int Main(int argc, char** argv, Experiments experiments) {
  absl::ParseCommandLine(argc, argv);
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  std::vector<Point> points = experiments(seed, absl::GetFlag(FLAGS_quick));
  const std::string only = absl::GetFlag(FLAGS_only);
  std::erase_if(points, [&](const Point& point) { return !absl::StartsWith(point.experiment, only); });
  const std::vector<absl::StatusOr<std::string>> outcomes =
      InParallel<std::string>(points.size(), [&](size_t i) { return points[i].run(); });
  std::vector<std::string> lines;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!outcomes[i].ok()) {
      std::cerr << points[i].experiment << ", " << points[i].series << ", " << points[i].x << ", seed " << seed << ": "
                << outcomes[i].status() << '\n';
      return 1;
    }
    lines.push_back(absl::StrFormat(R"({"experiment": "%s", "series": "%s", "x": %d, %s})", points[i].experiment,
                                    points[i].series, points[i].x, *outcomes[i]));
  }
  std::cout << "{\"seed\": " << seed << ", \"runs\": [\n" << absl::StrJoin(lines, ",\n") << "\n]}\n";
  return 0;
}

}  // namespace skein::bench
