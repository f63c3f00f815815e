// All metrics as Prometheus' text (version 0.0.4), and the page that describes them.
#ifndef SKEIN_CORE_TRACE_PROMETHEUS_H_
#define SKEIN_CORE_TRACE_PROMETHEUS_H_

#include <string>

#include "core/trace/aggregate.h"
#include "core/trace/counters.h"
#include "core/trace/method_table.h"

namespace skein::trace {

// Counters and gauges as they are (reasons that never were are left out); of each series of the aggregate a summary of
// its quantiles, since tracing began, and a gauge of its longest. Method names may be any bytes. For HTTP:
// "text/plain; version=0.0.4".
std::string PrometheusText(const CounterSnapshot& counters, const AggregateSnapshot& aggregate,
                           const MethodTable& methods);

// docs/metrics.md
std::string MetricsMarkdown();

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_PROMETHEUS_H_
