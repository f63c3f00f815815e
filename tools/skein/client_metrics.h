// Metrics in the form that prometheus-cpp serves.
#ifndef SKEIN_TOOLS_SKEIN_CLIENT_METRICS_H_
#define SKEIN_TOOLS_SKEIN_CLIENT_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "core/trace/metric_family.h"

namespace skein {

// Numbers become doubles, as Prometheus has them.
std::vector<prometheus::MetricFamily> ClientMetrics(const trace::MetricFamilies& families);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_CLIENT_METRICS_H_
