#include <cstdio>
#include <memory>

#include "core/inspect/tracing.h"
#include "core/trace/prometheus.h"
#include "tools/skein/facts_json.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

struct CommandLine {
  pid_t process = 0;
  bool json = false;
};

absl::StatusOr<int> Run(const CommandLine& line) {
  const absl::StatusOr<trace::MetricFamilies> families = inspect::AskMetrics(line.process);
  if (!families.ok()) return families.status();
  const std::string text = line.json ? MetricsJson(*families) + "\n" : trace::PrometheusText(*families);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

}  // namespace

Verb MetricsVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {.name = "metrics",
          .summary = "a process's counters and durations, as Prometheus' text",
          .about =
              "A process's counters, and the durations of the calls that it traces, as Prometheus' "
              "text (docs/metrics.md).",
          .options = {JsonOption(line->json)},
          .operand = {Operand::Count::kOne, "PID", "of which process?", Process(line->process)},
          .examples = {{"skein metrics 4711", "all that process 4711 counts and measures"}},
          .run = [line] { return Run(*line); }};
}

}  // namespace skein
