#include "core/inspect/tracing.h"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/inspect/control.h"
#include "core/trace/chrome_trace.h"
#include "core/trace/counters.h"
#include "core/trace/metrics.h"
#include "core/trace/prometheus.h"
#include "core/trace/tracer.h"

namespace skein::inspect {
namespace {

// What has to be told besides texts, in the order in which it is.
using Numbers = std::array<uint64_t SeriesFigures::*, 9>;
constexpr Numbers kNumbers = {&SeriesFigures::from_stage, &SeriesFigures::count, &SeriesFigures::sum,
                              &SeriesFigures::p50,        &SeriesFigures::p90,   &SeriesFigures::p99,
                              &SeriesFigures::p999,       &SeriesFigures::max,   &SeriesFigures::clock_error};
constexpr std::array<std::string SeriesFigures::*, 4> kTexts = {&SeriesFigures::path, &SeriesFigures::method,
                                                                &SeriesFigures::interval, &SeriesFigures::work};
constexpr std::array<bool SeriesFigures::*, 3> kFlags = {&SeriesFigures::call, &SeriesFigures::client,
                                                         &SeriesFigures::whole};
// Of a process with two libraries that have all series that they may have, and as many again of other methods: each is
// seven lines, with a method of 256 bytes in them. Then come the counters.
constexpr size_t kMostMetricsBytes = size_t{10} << 20;
constexpr size_t kMostMetricsLines = size_t{2} * 2 * trace::Aggregate::kMostSeries * 7 + 1000;
constexpr uint32_t kMostSeconds = 24 * 3600;
constexpr size_t kFields = kFlags.size() + kTexts.size() + kNumbers.size();

absl::Status SetEvery(uint32_t every) {
  trace::SetSampling(every);
  if (every != 0 && !trace::Enabled()) return absl::ResourceExhaustedError("the process has no thread left");
  return absl::OkStatus();
}

// How many it was before somebody asked for another number for a while. Only the thread that answers uses it.
struct Lent {
  uint32_t before = 0;
  uint64_t switches = 0;  // up to then
};
std::optional<Lent> lent;

// Unless the program itself has said something meanwhile.
void GoBack() {
  if (lent.has_value() && lent->switches == trace::Switches()) trace::SetSampling(lent->before);
  lent.reset();
}

absl::Status SetEveryFor(uint32_t every, uint32_t seconds) {
  const bool still_lent = lent.has_value() && lent->switches == trace::Switches();
  const uint32_t before = still_lent ? lent->before : trace::SampledEvery();
  absl::Status status = SetEvery(every);
  lent = Lent{before, trace::Switches()};
  Later(std::chrono::seconds(seconds), GoBack);
  return status;
}

absl::Status Switch(absl::string_view argument) {
  const std::vector<absl::string_view> words = absl::StrSplit(argument, ' ');
  uint32_t every = 0;
  if (words.size() > 2 || !absl::SimpleAtoi(words[0], &every)) {
    return absl::InvalidArgumentError("a number of calls, for how many seconds; or back, or clear");
  }
  if (words.size() == 1) {
    lent.reset();
    return SetEvery(every);
  }
  uint32_t seconds = 0;
  if (!absl::SimpleAtoi(words[1], &seconds) || seconds > kMostSeconds) {
    return absl::InvalidArgumentError(absl::StrCat("seconds are a number up to ", kMostSeconds));
  }
  return SetEveryFor(every, seconds);
}

absl::StatusOr<std::string> Trace(absl::string_view argument) {
  if (argument.empty()) return absl::StrCat(trace::SampledEvery());
  if (argument == "clear") {
    trace::Flush();
    trace::ClearAggregate();
    return "";
  }
  if (argument == "back") {
    GoBack();
    return "";
  }
  const absl::Status status = Switch(argument);
  if (!status.ok()) return status;
  return "";
}

absl::StatusOr<std::string> Record(absl::string_view argument) {
  uint32_t most = 0;
  if (!absl::SimpleAtoi(argument, &most)) return absl::InvalidArgumentError("how many calls?");
  trace::BeginRecording(most);
  return "";
}

std::string Recorded() {
  trace::Flush();
  return trace::ChromeTrace(trace::EndRecording(), trace::Methods());
}

std::vector<SeriesFigures> Figures() {
  trace::Flush();
  return FiguresOf(trace::Snapshot(), trace::Methods());
}

}  // namespace

void HandleTracing() {
  Handle("trace", Trace);
  Handle("record", Record);
  Handle("recorded", [](absl::string_view) { return Recorded(); });
  Handle("series", [](absl::string_view) { return EncodeSeries(Figures()); });
  Handle("metrics", [](absl::string_view) {
    trace::Flush();
    return trace::PrometheusText(trace::MetricsOf(trace::ReadCounters(), trace::Snapshot(), trace::Methods()));
  });
}

void TraceFromTheStart(int64_t every) {
  static const bool begun = [every] {
    if (every > 0) trace::SetSampling(static_cast<uint32_t>(every));
    return true;
  }();
  static_cast<void>(begun);
}

std::vector<SeriesFigures> FiguresOf(const trace::AggregateSnapshot& snapshot, const trace::MethodTable& methods) {
  std::vector<SeriesFigures> all;
  for (const trace::Series& series : snapshot) {
    const trace::Histogram& histogram = series.histogram;
    SeriesFigures figures;
    figures.call = series.key.kind == trace::RecordKind::kCall;
    figures.path = std::string(trace::PathName(series.key.path));
    figures.client = series.key.side == trace::Side::kClient;
    figures.method = std::string(methods.Name(series.key.method));
    figures.whole = series.key.whole;
    figures.from_stage = static_cast<uint64_t>(series.key.interval.from);
    figures.interval = trace::IntervalName(series.key.interval);
    figures.work = std::string(trace::WorkName(trace::WorkOf(series.key.interval)));
    figures.count = histogram.Count();
    figures.sum = histogram.Sum();
    figures.p50 = histogram.Percentile(50);
    figures.p90 = histogram.Percentile(90);
    figures.p99 = histogram.Percentile(99);
    figures.p999 = histogram.Percentile(99.9);
    figures.max = histogram.Max();
    figures.clock_error = static_cast<uint64_t>(series.clock_error_ns);
    all.push_back(std::move(figures));
  }
  return all;
}

// Peers choose methods: escaped, none has a tab or an end of line in it.
std::string EncodeSeries(const std::vector<SeriesFigures>& series) {
  std::string text;
  for (const SeriesFigures& figures : series) {
    std::vector<std::string> fields;
    fields.reserve(kFields);
    for (const auto flag : kFlags) fields.emplace_back(figures.*flag ? "1" : "0");
    for (const auto words : kTexts) fields.push_back(absl::CHexEscape(figures.*words));
    for (const auto number : kNumbers) fields.push_back(absl::StrCat(figures.*number));
    absl::StrAppend(&text, absl::StrJoin(fields, "\t"), "\n");
  }
  return text;
}

absl::StatusOr<std::vector<SeriesFigures>> DecodeSeries(absl::string_view text) {
  const absl::Status other = absl::DataLossError("figures of another form");
  std::vector<SeriesFigures> all;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    if (fields.size() != kFields) return other;
    SeriesFigures figures;
    auto field = fields.begin();
    for (const auto flag : kFlags) figures.*flag = *field++ == "1";
    for (const auto words : kTexts) {
      if (!absl::CUnescape(*field++, &(figures.*words))) return other;
    }
    for (const auto number : kNumbers) {
      if (!absl::SimpleAtoi(*field++, &(figures.*number))) return other;
    }
    all.push_back(std::move(figures));
  }
  return all;
}

absl::StatusOr<std::vector<SeriesFigures>> AskSeries(pid_t process) {
  const absl::StatusOr<std::string> text = Ask(process, "series");
  return text.ok() ? DecodeSeries(*text) : text.status();
}

namespace {

absl::StatusOr<trace::MetricFamilies> AskFamilies(pid_t process, absl::string_view question, Deadline end) {
  const absl::StatusOr<std::vector<LibraryAnswer>> answers =
      AskEach(process, question, {.bytes = kMostMetricsBytes, .lines = kMostMetricsLines, .end = end});
  if (!answers.ok()) return answers.status();
  trace::MetricFamilies all;
  for (const LibraryAnswer& answer : *answers) {
    absl::StatusOr<trace::MetricFamilies> families = trace::ParsePrometheusText(answer.text);
    if (!families.ok()) return families.status();
    if (absl::Status status = trace::CheckMetrics(*families); !status.ok()) return status;
    trace::AddLabel(*families, "library", absl::StrCat(answer.library));
    trace::Merge(all, *std::move(families));
  }
  return all;
}

}  // namespace

absl::StatusOr<trace::MetricFamilies> AskMetrics(pid_t process, Deadline end) {
  return AskFamilies(process, "metrics", end);
}

absl::StatusOr<trace::MetricFamilies> AskQueuePairMetrics(pid_t process) {
  return AskFamilies(process, "queue_pairs", AnswerLimits().end);
}

}  // namespace skein::inspect
