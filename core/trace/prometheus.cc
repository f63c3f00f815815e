#include "core/trace/prometheus.h"

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/trace/quoted.h"

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

absl::string_view TypeName(CounterType type) { return type == CounterType::kGauge ? "gauge" : "counter"; }

void AppendHead(std::string& text, absl::string_view name, absl::string_view type, absl::string_view help) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

std::string Seconds(uint64_t ns) { return absl::StrFormat("%d.%09d", ns / 1'000'000'000, ns % 1'000'000'000); }

void AppendCounter(std::string& text, const CounterSpec& spec, const CounterSnapshot& counters) {
  AppendHead(text, spec.name, TypeName(spec.type), spec.help);
  for (size_t label = 0; label < ValuesOf(spec.label); ++label) {
    const uint64_t value = counters.Value(spec.counter, label);
    if (spec.label == CounterLabel::kReason && value == 0) continue;
    absl::StrAppend(&text, spec.name);
    if (spec.label != CounterLabel::kNone) {
      absl::StrAppend(&text, "{", LabelName(spec.label), "=", Quoted(LabelValue(spec.label, label)), "}");
    }
    // A gauge read while it changes may be below 0 for a moment.
    absl::StrAppend(&text, " ", static_cast<int64_t>(value), "\n");
  }
}

std::string LabelsOf(const SeriesKey& key, const MethodTable& methods) {
  std::string labels = absl::StrCat("path=\"", PathName(key.path), "\",side=\"", SideName(key.side), "\"");
  if (key.method != kNoMethod) absl::StrAppend(&labels, ",method=", Quoted(methods.Name(key.method)));
  if (key.whole) return labels;
  absl::StrAppend(&labels, ",kind=\"", RecordKindName(key.kind), "\",interval=", Quoted(IntervalName(key.interval)),
                  ",work=\"", WorkName(WorkOf(key.interval)), "\"");
  return labels;
}

void AppendSummary(std::string& text, absl::string_view name, absl::string_view labels, const Histogram& histogram) {
  for (const Quantile& quantile : kQuantiles) {
    absl::StrAppend(&text, name, "{", labels, ",quantile=\"", quantile.name, "\"} ",
                    Seconds(histogram.Percentile(quantile.percent)), "\n");
  }
  absl::StrAppend(&text, name, "_sum{", labels, "} ", Seconds(histogram.Sum()), "\n");
  absl::StrAppend(&text, name, "_count{", labels, "} ", histogram.Count(), "\n");
}

void AppendDurations(std::string& text, const Durations& durations, const AggregateSnapshot& aggregate,
                     const MethodTable& methods) {
  std::string longest;
  const std::string max_name = absl::StrCat(durations.name, "_max");
  AppendHead(text, durations.name, "summary", durations.help);
  AppendHead(longest, max_name, "gauge", kLongest);
  for (const Series& series : aggregate) {
    if (!durations.has(series.key)) continue;
    const std::string labels = LabelsOf(series.key, methods);
    AppendSummary(text, durations.name, labels, series.histogram);
    absl::StrAppend(&longest, max_name, "{", labels, "} ", Seconds(series.histogram.Max()), "\n");
  }
  text += longest;
}

void AppendRow(std::string& page, absl::string_view name, absl::string_view type, absl::string_view labels,
               absl::string_view help) {
  absl::StrAppend(&page, "| `", name, "` | ", type, " | ", labels, " | ", help, " |\n");
}

}  // namespace

std::string PrometheusText(const CounterSnapshot& counters, const AggregateSnapshot& aggregate,
                           const MethodTable& methods) {
  std::string text;
  for (const CounterSpec& spec : kCounterTable) AppendCounter(text, spec, counters);
  for (const Durations& durations : kDurations) AppendDurations(text, durations, aggregate, methods);
  return text;
}

std::string MetricsMarkdown() {
  std::string page =
      "# Metrics\n\n"
      "Written from the tables in core/trace/counters.h and core/trace/prometheus.cc; change these, then run "
      "`skein_write_metrics docs/metrics.md` (in the build's core/trace).\n\n"
      "Counters count always. Durations are those of traced calls and messages: summaries with the quantiles 0.5, 0.9, "
      "0.99 and 0.999 since tracing was begun, each off by 1/64 at most, and of what is longer than 73 minutes as "
      "that.\n\n"
      "| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const CounterSpec& spec : kCounterTable) {
    AppendRow(page, spec.name, TypeName(spec.type), LabelName(spec.label), spec.help);
  }
  for (const Durations& durations : kDurations) {
    AppendRow(page, durations.name, "summary", durations.labels, durations.help);
    AppendRow(page, absl::StrCat(durations.name, "_max"), "gauge", durations.labels, kLongest);
  }
  return page;
}

}  // namespace skein::trace
