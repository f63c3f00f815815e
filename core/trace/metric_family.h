// Metrics as they are told, whatever the format: families, each of one name and type.
#ifndef SKEIN_CORE_TRACE_METRIC_FAMILY_H_
#define SKEIN_CORE_TRACE_METRIC_FAMILY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace skein::trace {

enum class MetricType : uint8_t { kCounter, kGauge, kSummary };

// Numbers are as written, in decimal: those of 64 bits and of nanoseconds stay exact until somebody wants a double.
struct Metric {
  // In this order. Names are ours; values are printable ASCII (quoted.h's Printable).
  std::vector<std::pair<std::string, std::string>> labels;
  std::string value;  // of a counter or gauge
  // Of a summary. By the quantile, "0.99".
  std::vector<std::pair<std::string, std::string>> quantiles;
  std::string sum;
  std::string count;

  friend bool operator==(const Metric&, const Metric&) = default;
};

struct MetricFamily {
  std::string name;
  std::string help;  // a line
  MetricType type = MetricType::kCounter;
  std::vector<Metric> metrics;

  friend bool operator==(const MetricFamily&, const MetricFamily&) = default;
};

using MetricFamilies = std::vector<MetricFamily>;

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_METRIC_FAMILY_H_
