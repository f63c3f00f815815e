#include "tools/skein/client_metrics.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"

namespace skein {
namespace {

prometheus::MetricType TypeOf(trace::MetricType type) {
  switch (type) {
    case trace::MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case trace::MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case trace::MetricType::kSummary:
      return prometheus::MetricType::Summary;
  }
  return prometheus::MetricType::Untyped;
}

double Number(const std::string& text) {
  double number = 0;
  return absl::SimpleAtod(text, &number) ? number : std::nan("");
}

prometheus::ClientMetric MetricOf(const trace::Metric& metric, trace::MetricType type) {
  prometheus::ClientMetric made;
  for (const auto& [name, value] : metric.labels) made.label.push_back({name, value});
  switch (type) {
    case trace::MetricType::kCounter:
      made.counter.value = Number(metric.value);
      break;
    case trace::MetricType::kGauge:
      made.gauge.value = Number(metric.value);
      break;
    case trace::MetricType::kSummary:
      for (const auto& [quantile, value] : metric.quantiles) {
        made.summary.quantile.push_back({Number(quantile), Number(value)});
      }
      made.summary.sample_sum = Number(metric.sum);
      if (!absl::SimpleAtoi(metric.count, &made.summary.sample_count)) made.summary.sample_count = 0;
      break;
  }
  return made;
}

}  // namespace

std::vector<prometheus::MetricFamily> ClientMetrics(const trace::MetricFamilies& families) {
  std::vector<prometheus::MetricFamily> all;
  for (const trace::MetricFamily& family : families) {
    prometheus::MetricFamily made{family.name, family.help, TypeOf(family.type), {}};
    for (const trace::Metric& metric : family.metrics) made.metric.push_back(MetricOf(metric, family.type));
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace skein
