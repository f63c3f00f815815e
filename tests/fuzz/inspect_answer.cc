// What another process tells of itself, which may be anything: lists and metrics that can be told again, or DATA_LOSS.
#include <algorithm>

#include "core/inspect/live_paths.h"
#include "core/inspect/tracing.h"
#include "core/trace/metrics.h"
#include "core/trace/prometheus.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  inspect::SeriesFigures figures;
  figures.path = "shm";
  figures.method = "/a.B/\tC";
  figures.interval = "wire";
  const trace::MetricFamilies metrics = trace::MetricsOf(trace::ReadCounters(), {}, trace::MethodTable());
  return {inspect::EncodeSeries({figures, figures}),
          inspect::EncodePaths({{"grpc", true, "ipv4:1.2.3.4:5", "ipv4:1.2.3.4:6", "shm", "why", true}}),
          trace::PrometheusText(metrics),
          "# HELP skein_x y\n# TYPE skein_x summary\nskein_x{a=\"b\",quantile=\"0.5\"} 1\nskein_x_sum{a=\"b\"} 1\n"
          "skein_x_count{a=\"b\"} 1\n"};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view text = skein::fuzz::Text(data, size);
  if (const auto series = skein::inspect::DecodeSeries(text); series.ok()) {
    Require(skein::inspect::DecodeSeries(skein::inspect::EncodeSeries(*series)).value() == *series, "series again");
  } else {
    Require(absl::IsDataLoss(series.status()), "no series is data loss");
  }
  if (const auto paths = skein::inspect::DecodePaths(text); paths.ok()) {
    const std::string told = skein::inspect::EncodePaths(*paths);
    Require(skein::inspect::EncodePaths(skein::inspect::DecodePaths(told).value()) == told, "paths again");
  } else {
    Require(absl::IsDataLoss(paths.status()), "no paths are data loss");
  }
  auto metrics = skein::trace::ParsePrometheusText(text);
  if (!metrics.ok()) {
    Require(absl::IsDataLoss(metrics.status()), "no metrics are data loss");
    return 0;
  }
  const std::string told = skein::trace::PrometheusText(*metrics);
  const auto again = skein::trace::ParsePrometheusText(told);
  Require(again.ok() && *again == *metrics, "metrics again");
  if (!skein::trace::CheckMetrics(*metrics).ok()) return 0;
  const auto is_shown = [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); };
  Require(std::all_of(told.begin(), told.end(), is_shown), "printable metrics");
  skein::trace::AddLabel(*metrics, "library", "0");
  skein::trace::MetricFamilies all;
  skein::trace::Merge(all, *std::move(metrics));
  return 0;
}
