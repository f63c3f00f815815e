#include "core/trace/prometheus.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/trace/quoted.h"

namespace skein::trace {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

constexpr std::array<absl::string_view, 3> kTypes = {"counter", "gauge", "summary"};
constexpr absl::string_view kQuantile = "quantile";
// Of a sample; more than any of ours has. Each takes more memory than the text it comes from.
constexpr size_t kMostLabels = 16;

absl::string_view TypeName(MetricType type) { return kTypes[static_cast<size_t>(type)]; }

std::string TextOf(const Labels& labels) {
  if (labels.empty()) return "";
  std::string text;
  for (const auto& [name, value] : labels) {
    absl::StrAppend(&text, text.empty() ? "{" : ",", name, "=", InQuotes(value));
  }
  return text + "}";
}

void AppendSummary(std::string& text, const std::string& name, const Metric& metric) {
  Labels labels = metric.labels;
  labels.emplace_back(kQuantile, "");
  for (const auto& [quantile, value] : metric.quantiles) {
    labels.back().second = quantile;
    absl::StrAppend(&text, name, TextOf(labels), " ", value, "\n");
  }
  const std::string common = TextOf(metric.labels);
  absl::StrAppend(&text, name, "_sum", common, " ", metric.sum, "\n", name, "_count", common, " ", metric.count, "\n");
}

// A line "NAME{LABELS} VALUE".
struct Sample {
  absl::string_view name;
  Labels labels;
  std::string value;
};

// The text between quotes that `text` begins with, which are taken off it.
std::optional<std::string> TakeQuoted(absl::string_view& text) {
  if (!absl::ConsumePrefix(&text, "\"")) return std::nullopt;
  std::string value;
  while (!text.empty() && text[0] != '"') {
    const bool escaped = absl::ConsumePrefix(&text, "\\");
    if (escaped && !absl::StartsWith(text, "\\") && !absl::StartsWith(text, "\"")) return std::nullopt;
    value += text[0];
    text.remove_prefix(1);
  }
  return absl::ConsumePrefix(&text, "\"") ? std::optional(std::move(value)) : std::nullopt;
}

// "{a="1",b="2"}" at the beginning of `text`, or nothing, which is taken off it.
std::optional<Labels> TakeLabels(absl::string_view& text) {
  Labels labels;
  if (!absl::ConsumePrefix(&text, "{")) return labels;
  do {
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) return std::nullopt;
    std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    std::optional<std::string> value = TakeQuoted(text);
    if (!value.has_value()) return std::nullopt;
    if (labels.size() == kMostLabels) return std::nullopt;
    labels.emplace_back(std::move(name), *std::move(value));
  } while (absl::ConsumePrefix(&text, ","));
  return absl::ConsumePrefix(&text, "}") ? std::optional(std::move(labels)) : std::nullopt;
}

// In decimal, as metrics have them; Prometheus has others, too: NaN, +Inf, 1e9.
bool IsNumber(absl::string_view text) {
  double number = 0;
  return absl::c_all_of(text, [](char c) { return absl::ascii_isdigit(c) || c == '.' || c == '-'; }) &&
         absl::SimpleAtod(text, &number) && std::isfinite(number);
}

std::optional<Sample> SampleOf(absl::string_view line) {
  Sample sample;
  sample.name = line.substr(0, line.find_first_of("{ "));
  line.remove_prefix(sample.name.size());
  std::optional<Labels> labels = TakeLabels(line);
  if (!labels.has_value() || !absl::ConsumePrefix(&line, " ") || !IsNumber(line)) return std::nullopt;
  sample.labels = *std::move(labels);
  sample.value = std::string(line);
  return sample;
}

// Puts the lines of a summary together: its quantiles, the sum, the count.
bool AddToSummaries(MetricFamily& family, Sample sample) {
  if (sample.name == family.name) {
    if (sample.labels.empty() || sample.labels.back().first != kQuantile) return false;
    std::string quantile = std::move(sample.labels.back().second);
    sample.labels.pop_back();
    if (family.metrics.empty() || !family.metrics.back().sum.empty()) {
      family.metrics.emplace_back().labels = std::move(sample.labels);
    } else if (family.metrics.back().labels != sample.labels) {
      return false;
    }
    family.metrics.back().quantiles.emplace_back(std::move(quantile), std::move(sample.value));
    return true;
  }
  if (!absl::ConsumePrefix(&sample.name, family.name) || family.metrics.empty()) return false;
  Metric& last = family.metrics.back();
  std::string* const part = sample.name == "_sum" ? &last.sum : sample.name == "_count" ? &last.count : nullptr;
  uint64_t count = 0;
  if (part == nullptr || !part->empty() || last.labels != sample.labels) return false;
  if (part == &last.count && (last.sum.empty() || !absl::SimpleAtoi(sample.value, &count))) return false;
  *part = std::move(sample.value);
  return true;
}

// Of the lines "# HELP NAME WHAT" and "# TYPE NAME TYPE".
std::optional<MetricFamily> FamilyOf(absl::string_view help, absl::string_view type) {
  const std::vector<absl::string_view> helps = absl::StrSplit(help, absl::MaxSplits(' ', 3));
  const std::vector<absl::string_view> types = absl::StrSplit(type, ' ');
  if (helps.size() != 4 || helps[0] != "#" || helps[1] != "HELP") return std::nullopt;
  if (types.size() != 4 || types[0] != "#" || types[1] != "TYPE" || types[2] != helps[2]) return std::nullopt;
  const auto known = absl::c_find(kTypes, types[3]);
  if (known == kTypes.end()) return std::nullopt;
  return MetricFamily{
      std::string(helps[2]), std::string(helps[3]), static_cast<MetricType>(known - kTypes.begin()), {}};
}

bool AddSample(MetricFamilies& families, absl::string_view line) {
  std::optional<Sample> sample = SampleOf(line);
  if (!sample.has_value() || families.empty()) return false;
  MetricFamily& family = families.back();
  if (family.type == MetricType::kSummary) return AddToSummaries(family, *std::move(sample));
  if (sample->name != family.name) return false;
  family.metrics.push_back({std::move(sample->labels), std::move(sample->value), {}, "", ""});
  return true;
}

}  // namespace

std::string PrometheusText(const MetricFamilies& families) {
  std::string text;
  for (const MetricFamily& family : families) {
    absl::StrAppend(&text, "# HELP ", family.name, " ", family.help, "\n# TYPE ", family.name, " ",
                    TypeName(family.type), "\n");
    for (const Metric& metric : family.metrics) {
      if (family.type == MetricType::kSummary) {
        AppendSummary(text, family.name, metric);
      } else {
        absl::StrAppend(&text, family.name, TextOf(metric.labels), " ", metric.value, "\n");
      }
    }
  }
  return text;
}

absl::StatusOr<MetricFamilies> ParsePrometheusText(absl::string_view text) {
  const absl::Status other = absl::DataLossError("metrics of another form");
  MetricFamilies families;
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.back().empty()) return other;
  lines.pop_back();
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (!absl::StartsWith(*line, "#")) {
      if (!AddSample(families, *line)) return other;
      continue;
    }
    const absl::string_view help = *line++;
    std::optional<MetricFamily> family = line == lines.end() ? std::nullopt : FamilyOf(help, *line);
    if (!family.has_value()) return other;
    families.push_back(*std::move(family));
  }
  const auto cut = [](const Metric& summary) { return summary.count.empty(); };
  for (const MetricFamily& family : families) {
    if (family.type == MetricType::kSummary && absl::c_any_of(family.metrics, cut)) return other;
  }
  return families;
}

}  // namespace skein::trace
