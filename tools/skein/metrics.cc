#include "tools/skein/metrics.h"

#include <cstdio>
#include <optional>

#include "core/inspect/attachment.h"
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
  const absl::StatusOr<std::string> text = inspect::Ask(*process, "metrics");
  if (!text.ok()) return Failed(kVerb, text.status());
  return std::fputs(text->c_str(), stdout) < 0 ? 1 : 0;
}

}  // namespace skein
