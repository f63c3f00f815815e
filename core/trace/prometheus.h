// Metrics as Prometheus' text (version 0.0.4).
#ifndef SKEIN_CORE_TRACE_PROMETHEUS_H_
#define SKEIN_CORE_TRACE_PROMETHEUS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/trace/metric_family.h"

namespace skein::trace {

// For HTTP: "text/plain; version=0.0.4".
std::string PrometheusText(const MetricFamilies& families);
// From one process to another: what PrometheusText was given. DATA_LOSS for any other text, other programs' too.
absl::StatusOr<MetricFamilies> ParsePrometheusText(absl::string_view text);

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_PROMETHEUS_H_
