// All that the process counts and measures, as metrics, and the page that describes them.
#ifndef SKEIN_CORE_TRACE_METRICS_H_
#define SKEIN_CORE_TRACE_METRICS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/trace/aggregate.h"
#include "core/trace/counters.h"
#include "core/trace/method_table.h"
#include "core/trace/metric_family.h"

namespace skein::trace {

// Counters and gauges as they are (reasons that never were are left out); of each series of the aggregate a summary of
// its quantiles, since tracing began, and a gauge of its longest. Method names may be any bytes.
MetricFamilies MetricsOf(const CounterSnapshot& counters, const AggregateSnapshot& aggregate,
                         const MethodTable& methods);

// Of what another process has told, ParsePrometheusText's. DATA_LOSS: a family, its type or help, a label or a quantile
// is none of MetricsOf's or skeind's, a family, label or sample is there twice, or a label's value is not printable
// ASCII: served with others' metrics it would spoil these, too.
absl::Status CheckMetrics(const MetricFamilies& families);

// Says of each metric where it is from. The label is behind those that it has.
void AddLabel(MetricFamilies& families, absl::string_view name, absl::string_view value);
// `more` as well, each family once. They have different labels.
void Merge(MetricFamilies& families, MetricFamilies more);

// docs/metrics.md
std::string MetricsMarkdown();

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_METRICS_H_
