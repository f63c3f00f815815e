#include "core/trace/metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/trace/quoted.h"
#include "core/trace/service_metrics.h"

namespace skein::trace {
namespace {

// Durations, each a summary and a gauge of the longest, NAME_max.
struct Durations {
  absl::string_view name;
  absl::string_view labels;  // for the page
  absl::string_view help;
  bool (*has)(const SeriesKey& key);
};

constexpr std::array<Durations, 3> kDurations = {{
    {"skein_call_seconds", "path, side, method",
     "Traced calls: at the client from the framework's submission to its delivery, at the server from arrival to the "
     "reply's WRITE.",
     [](const SeriesKey& key) { return key.whole && key.kind == RecordKind::kCall; }},
    {"skein_message_seconds", "path, side", "Traced messages: from the stream to the peer's framework.",
     [](const SeriesKey& key) { return key.whole && key.kind == RecordKind::kMessage; }},
    {"skein_interval_seconds", "path, side, method, kind, interval, work",
     "Parts of traced calls and messages, between two stages that are known one after the other.",
     [](const SeriesKey& key) { return !key.whole; }},
}};
constexpr absl::string_view kLongest = "The longest of them.";

struct Quantile {
  absl::string_view name;
  double percent;
};
constexpr std::array<Quantile, 4> kQuantiles = {{{"0.5", 50}, {"0.9", 90}, {"0.99", 99}, {"0.999", 99.9}}};

absl::string_view TypeName(bool is_gauge) { return is_gauge ? "gauge" : "counter"; }

std::string Seconds(uint64_t ns) { return absl::StrFormat("%d.%09d", ns / 1'000'000'000, ns % 1'000'000'000); }

MetricFamily CounterOf(const CounterSpec& spec, const CounterSnapshot& counters) {
  MetricFamily family{std::string(spec.name),
                      std::string(spec.help),
                      spec.type == CounterType::kGauge ? MetricType::kGauge : MetricType::kCounter,
                      {}};
  for (size_t label = 0; label < ValuesOf(spec.label); ++label) {
    const uint64_t value = counters.Value(spec.counter, label);
    if (spec.label == CounterLabel::kReason && value == 0) continue;
    Metric& metric = family.metrics.emplace_back();
    if (spec.label != CounterLabel::kNone) {
      metric.labels.emplace_back(LabelName(spec.label), Printable(LabelValue(spec.label, label)));
    }
    // A gauge read while it changes may be below 0 for a moment.
    metric.value = absl::StrCat(static_cast<int64_t>(value));
  }
  return family;
}

// Peers choose the name, which is told with each of its method's samples. Whose bytes take too much as text is cut, and
// goes by its number: behind an escape that Printable does not write, so that no other name reads the same.
std::string MethodLabel(uint32_t method, const MethodTable& methods) {
  const absl::string_view name = methods.Name(method);
  std::string label = Printable(name);
  if (InQuotes(label).size() <= InQuotes("").size() + MethodTable::kMostBytes) return label;
  return absl::StrCat(Printable(name.substr(0, MethodTable::kMostBytes / 8)), "\\~", method);
}

Metric LabelledBy(const SeriesKey& key, const MethodTable& methods) {
  Metric metric;
  metric.labels.emplace_back("path", PathName(key.path));
  metric.labels.emplace_back("side", SideName(key.side));
  if (key.method != kNoMethod) metric.labels.emplace_back("method", MethodLabel(key.method, methods));
  if (key.whole) return metric;
  metric.labels.emplace_back("kind", RecordKindName(key.kind));
  metric.labels.emplace_back("interval", IntervalName(key.interval));
  metric.labels.emplace_back("work", WorkName(WorkOf(key.interval)));
  return metric;
}

Metric SummaryOf(const Series& series, const MethodTable& methods) {
  Metric summary = LabelledBy(series.key, methods);
  for (const Quantile& quantile : kQuantiles) {
    summary.quantiles.emplace_back(quantile.name, Seconds(series.histogram.Percentile(quantile.percent)));
  }
  summary.sum = Seconds(series.histogram.Sum());
  summary.count = absl::StrCat(series.histogram.Count());
  return summary;
}

void AddDurations(MetricFamilies& families, const Durations& durations, const AggregateSnapshot& aggregate,
                  const MethodTable& methods) {
  MetricFamily summaries{std::string(durations.name), std::string(durations.help), MetricType::kSummary, {}};
  MetricFamily longest{absl::StrCat(durations.name, "_max"), std::string(kLongest), MetricType::kGauge, {}};
  for (const Series& series : aggregate) {
    if (!durations.has(series.key)) continue;
    summaries.metrics.push_back(SummaryOf(series, methods));
    longest.metrics.push_back(LabelledBy(series.key, methods));
    longest.metrics.back().value = Seconds(series.histogram.Max());
  }
  families.push_back(std::move(summaries));
  families.push_back(std::move(longest));
}

// Labels in the order in which LabelledBy, CounterOf and skeind put them, so that none is there twice, and values that
// every format can have; for a summary our quantiles.
bool IsOurs(const Metric& metric) {
  constexpr std::array<absl::string_view, 11> kLabels = {"path",   "side", "method", "kind",       "interval", "work",
                                                         "reason", "user", "client", "queue_pair", "peer"};
  const auto* next = kLabels.begin();
  for (const auto& [name, value] : metric.labels) {
    next = std::find(next, kLabels.end(), name);
    if (next == kLabels.end() || !absl::c_all_of(value, absl::ascii_isprint)) return false;
    ++next;
  }
  return metric.quantiles.empty() ||
         absl::c_equal(metric.quantiles, kQuantiles,
                       [](const auto& told, const Quantile& ours) { return told.first == ours.name; });
}

// In their labels.
bool AreDifferent(const std::vector<Metric>& metrics) {
  std::vector<const Metric*> sorted;
  sorted.reserve(metrics.size());
  for (const Metric& metric : metrics) sorted.push_back(&metric);
  absl::c_sort(sorted, [](const Metric* a, const Metric* b) { return a->labels < b->labels; });
  return std::adjacent_find(sorted.begin(), sorted.end(),
                            [](const Metric* a, const Metric* b) { return a->labels == b->labels; }) == sorted.end();
}

void AppendRow(std::string& page, absl::string_view name, absl::string_view type, absl::string_view labels,
               absl::string_view help) {
  absl::StrAppend(&page, "| `", name, "` | ", type, " | ", labels, " | ", help, " |\n");
}

}  // namespace

MetricFamilies MetricsOf(const CounterSnapshot& counters, const AggregateSnapshot& aggregate,
                         const MethodTable& methods) {
  MetricFamilies families;
  for (const CounterSpec& spec : kCounterTable) families.push_back(CounterOf(spec, counters));
  for (const Durations& durations : kDurations) AddDurations(families, durations, aggregate, methods);
  return families;
}

absl::Status CheckMetrics(const MetricFamilies& families) {
  static const MetricFamilies* const ours = [] {
    auto* const all = new MetricFamilies(MetricsOf(CounterSnapshot(), AggregateSnapshot(), MethodTable()));
    for (const ServiceMetricSpec& spec : kServiceTable) all->push_back(FamilyOf(spec.metric));
    return all;
  }();
  std::vector<bool> seen(ours->size());
  for (const MetricFamily& family : families) {
    const auto known = absl::c_find_if(*ours, [&](const MetricFamily& each) { return each.name == family.name; });
    if (known == ours->end() || seen[known - ours->begin()] || known->type != family.type ||
        known->help != family.help || !absl::c_all_of(family.metrics, IsOurs) || !AreDifferent(family.metrics)) {
      return absl::DataLossError("metrics that are none of Skein's");
    }
    seen[known - ours->begin()] = true;
  }
  return absl::OkStatus();
}

void AddLabel(MetricFamilies& families, absl::string_view name, absl::string_view value) {
  for (MetricFamily& family : families) {
    for (Metric& metric : family.metrics) metric.labels.emplace_back(name, Printable(value));
  }
}

void Merge(MetricFamilies& families, MetricFamilies more) {
  for (MetricFamily& family : more) {
    const auto known = absl::c_find_if(families, [&](const MetricFamily& each) { return each.name == family.name; });
    if (known == families.end()) {
      families.push_back(std::move(family));
    } else if (known->type == family.type) {
      absl::c_move(family.metrics, std::back_inserter(known->metrics));
    }
  }
}

std::string MetricsMarkdown() {
  std::string page =
      "# Metrics\n\n"
      "Written from the tables in core/trace/counters.h and core/trace/metrics.cc; change these, then run\n"
      "`skein_write_metrics docs/metrics.md` (in the build's core/trace).\n\n"
      "Counters count always. Durations are summaries of the traced calls and messages since tracing began,\n"
      "with the quantiles 0.5, 0.9, 0.99 and 0.999. Each quantile is off by 1/64 at most. A duration of\n"
      "more than 73 minutes counts as 73 minutes. The label `method` is the method's name, with bytes that\n"
      "are not printable ASCII as escapes (`\\xff`). A name that then takes more than 256 bytes is cut: its\n"
      "beginning, `\\~` and a number.\n\n"
      "`skein metrics PID` prints the metrics of a process; with `--json`, as JSON. A process may\n"
      "have several cores, if libraries were built with a core inside (`-DSKEIN_CORE_INSIDE=ON`). The\n"
      "label `library` (0, 1, ...), which is always there, distinguishes them. `skein exporter` serves the\n"
      "metrics of a host's processes to Prometheus ([tracing.md](tracing.md#for-prometheus)). It adds the\n"
      "labels `process`, the number, and `program`, the name, and a gauge `skein_up`: 1 if the process has\n"
      "answered, 0 if it has not.\n\n"
      "| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const CounterSpec& spec : kCounterTable) {
    AppendRow(page, spec.name, TypeName(spec.type == CounterType::kGauge), LabelName(spec.label), spec.help);
  }
  for (const Durations& durations : kDurations) {
    AppendRow(page, durations.name, "summary", durations.labels, durations.help);
    AppendRow(page, absl::StrCat(durations.name, "_max"), "gauge", durations.labels, kLongest);
  }
  absl::StrAppend(&page,
                  "\n## skeind's\n\n"
                  "[skeind](service.md) has these as well, and `skein top --service` shows them. `user` and `client`\n"
                  "are the user and the number of a process that uses it. `client` is 0 for all that are in a pid\n"
                  "namespace that skeind does not see, `ended` for all that have ended, and `others` beyond the 1000\n"
                  "busiest. `peer` is the other host's address. Those of virtual queue pairs\n"
                  "(`skein_service_pair_...`) are too many for Prometheus: `skein metrics` and `skein exporter` leave\n"
                  "them out, `skein top --service --queue-pairs` shows the busiest.\n\n"
                  "| metric | type | labels | meaning |\n|---|---|---|---|\n");
  for (const ServiceMetricSpec& spec : kServiceTable) {
    AppendRow(page, spec.name, TypeName(spec.type == MetricType::kGauge), spec.labels, spec.help);
  }
  return page;
}

}  // namespace skein::trace
