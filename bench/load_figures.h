// What a load comes to, as one line of JSON; the same of every framework.
#ifndef SKEIN_BENCH_LOAD_FIGURES_H_
#define SKEIN_BENCH_LOAD_FIGURES_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace skein::bench {

// Of at least one call, each of `bytes` there and as many back. `processor`: seconds that both ends took, if known.
inline std::string LoadFigures(std::vector<absl::Duration> latencies, absl::Duration elapsed, size_t bytes,
                               std::optional<double> processor) {
  std::sort(latencies.begin(), latencies.end());
  const auto calls = static_cast<double>(latencies.size());
  const auto us = [&](double fraction) {
    return absl::ToDoubleMicroseconds(latencies[static_cast<size_t>((calls - 1) * fraction)]);
  };
  const double rate = calls / absl::ToDoubleSeconds(elapsed);
  std::string figures = absl::StrFormat(
      R"({"p50_us": %.2f, "p90_us": %.2f, "p99_us": %.2f, "p999_us": %.2f, "calls_per_s": %.1f, "mb_per_s": %.4f)",
      us(0.5), us(0.9), us(0.99), us(0.999), rate, rate * static_cast<double>(bytes) / 1e6);
  if (processor.has_value()) absl::StrAppendFormat(&figures, R"(, "cpu_us": %.2f)", *processor * 1e6 / calls);
  return absl::StrCat(figures, "}");
}

// While nothing is called: percents of one processor.
inline std::string IdleFigures(double client_seconds, double server_seconds, absl::Duration elapsed) {
  const double percent = 100 / absl::ToDoubleSeconds(elapsed);
  return absl::StrFormat(R"({"client_cpu_percent": %.4f, "server_cpu_percent": %.4f})", client_seconds * percent,
                         server_seconds * percent);
}

}  // namespace skein::bench

#endif  // SKEIN_BENCH_LOAD_FIGURES_H_
