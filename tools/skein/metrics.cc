#include "tools/skein/metrics.h"

#include <cstdio>
#include <optional>

#include "core/inspect/tracing.h"
#include "core/trace/prometheus.h"
#include "tools/skein/arguments.h"

namespace skein {
namespace {

constexpr char kVerb[] = "metrics";
constexpr char kUsage[] =
    "usage: skein metrics PID\n"
    "\n"
    "A process's counters, and the durations of the calls that it traces, as Prometheus' text (docs/metrics.md).\n";

}  // namespace

int RunMetrics(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && AsksForHelp(arguments[0])) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  const std::optional<pid_t> process = arguments.size() == 1 ? ProcessNumber(arguments[0]) : std::nullopt;
  if (!process.has_value()) return Misused(kVerb, "of which process?", kUsage);
  const absl::StatusOr<trace::MetricFamilies> families = inspect::AskMetrics(*process);
  if (!families.ok()) return Failed(kVerb, families.status());
  return std::fputs(trace::PrometheusText(*families).c_str(), stdout) < 0 ? 1 : 0;
}

}  // namespace skein
