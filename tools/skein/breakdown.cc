#include "tools/skein/breakdown.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/inspect/attachment.h"
#include "core/inspect/tracing.h"
#include "tools/skein/arguments.h"
#include "tools/skein/stacked_bar.h"
#include "tools/skein/table.h"
#include "tools/skein/tracing.h"

namespace skein {
namespace {

using inspect::SeriesFigures;

constexpr char kVerb[] = "breakdown";
constexpr char kUsage[] =
    "usage: skein breakdown [--seconds=S] [--every=N] [--svg=FILE] PID\n"
    "\n"
    "Where the time of a process's calls goes: a table for each path, side and method, a line for each stage.\n"
    "\n"
    "  --seconds=S   traces for so long, then stops; 0: what has been traced until now (default: 3, or 0 where the\n"
    "                process traces already)\n"
    "  --every=N     traces one call of N (default 1)\n"
    "  --svg=FILE    draws the medians as stacked bars, too\n";

struct CommandLine {
  pid_t process = 0;
  std::optional<double> seconds;
  uint32_t every = 1;
  std::string svg;
};

// INVALID_ARGUMENT: called wrongly.
absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (absl::string_view argument : arguments) {
    absl::string_view value = argument;
    absl::Status status;
    if (absl::ConsumePrefix(&value, "--seconds=")) {
      status = ParseSeconds(value, line.seconds.emplace());
    } else if (absl::ConsumePrefix(&value, "--every=")) {
      status = ParseCount("--every", value, line.every);
    } else if (absl::ConsumePrefix(&value, "--svg=")) {
      line.svg = std::string(value);
    } else if (absl::StartsWith(argument, "-")) {
      status = UnknownOption(argument);
    } else if (const std::optional<pid_t> process = ProcessNumber(argument);
               !process.has_value() || line.process != 0) {
      status = NoProcessNumber(argument);
    } else {
      line.process = *process;
    }
    if (!status.ok()) return status;
  }
  if (line.process == 0) return absl::InvalidArgumentError("of which process?");
  return line;
}

// For how long, if that is not said: who traces already has something to tell.
absl::StatusOr<double> DefaultSeconds(pid_t process) {
  const absl::StatusOr<std::string> every = inspect::Ask(process, "trace");
  if (!every.ok()) return every.status();
  return absl::c_any_of(*every, [](char digit) { return digit != '0'; }) ? 0 : 3;
}

absl::StatusOr<std::vector<SeriesFigures>> Trace(const CommandLine& line) {
  const absl::StatusOr<double> seconds = line.seconds.has_value() ? *line.seconds : DefaultSeconds(line.process);
  if (!seconds.ok()) return seconds.status();
  std::optional<TracingFor> tracing;
  if (*seconds > 0) {
    tracing.emplace(line.process, line.every, *seconds);
    if (!tracing->status().ok()) return tracing->status();
    absl::SleepFor(absl::Seconds(*seconds));
  }
  return inspect::AskSeries(line.process);
}

std::string Micros(uint64_t ns) { return absl::StrFormat("%.2f", static_cast<double>(ns) / 1000); }

std::string Share(double part, double all) { return all > 0 ? absl::StrFormat("%.0f%%", 100 * part / all) : ""; }

double Mean(const SeriesFigures& figures) {
  return figures.count == 0 ? 0 : static_cast<double>(figures.sum) / static_cast<double>(figures.count);
}

// What is told of together: the calls of one method over one path at one side.
using Group = std::vector<SeriesFigures>;

std::vector<Group> GroupsOf(const std::vector<SeriesFigures>& all) {
  std::map<std::tuple<bool, std::string, bool, std::string>, Group> groups;
  for (const SeriesFigures& figures : all) {
    groups[{!figures.call, figures.path, !figures.client, figures.method}].push_back(figures);
  }
  std::vector<Group> list;
  for (auto& [key, group] : groups) {
    absl::c_stable_sort(group, [](const SeriesFigures& a, const SeriesFigures& b) {
      return std::tuple(a.whole, a.from_stage) < std::tuple(b.whole, b.from_stage);
    });
    list.push_back(std::move(group));
  }
  return list;
}

std::string TitleOf(const SeriesFigures& figures) {
  return absl::StrCat(figures.method.empty() ? (figures.call ? "calls" : "messages") : figures.method, " over ",
                      figures.path, ", seen by the ", figures.client ? "client" : "server");
}

std::vector<std::string> Row(const std::string& name, const SeriesFigures& figures, double whole) {
  return {name,
          figures.whole ? "" : figures.work,
          absl::StrCat(figures.count),
          Micros(figures.p50),
          Micros(figures.p90),
          Micros(figures.p99),
          Micros(figures.p999),
          Micros(figures.max),
          Micros(static_cast<uint64_t>(Mean(figures))),
          Share(Mean(figures), whole)};
}

void Print(const Group& group) {
  const auto end = absl::c_find_if(group, [](const SeriesFigures& figures) { return figures.whole; });
  const double whole = end == group.end() ? 0 : Mean(*end);
  std::vector<std::vector<std::string>> rows = {
      {"STAGE", "WORK", "COUNT", "P50 us", "P90", "P99", "P99.9", "MAX", "MEAN", "SHARE"}};
  uint64_t medians = 0;
  std::map<std::string, double> by_work;
  for (const SeriesFigures& figures : group) {
    if (figures.whole) continue;
    rows.push_back(Row(figures.interval, figures, whole));
    medians += figures.p50;
    by_work[figures.work] += Mean(figures) * static_cast<double>(figures.count);
  }
  for (const SeriesFigures& figures : group) {
    if (figures.whole) rows.push_back(Row("from end to end", figures, whole));
  }
  std::printf("%s\n%s", TitleOf(group.front()).c_str(), Table(std::move(rows)).c_str());
  std::printf("sum of the stages' medians: %s us", Micros(medians).c_str());
  if (end != group.end()) {
    const double all = whole * static_cast<double>(end->count);
    for (const auto& [work, sum] : by_work) std::printf("; %s %s", work.c_str(), Share(sum, all).c_str());
    if (end->clock_error > 0) std::printf("; the other host's clock: +-%s us", Micros(end->clock_error).c_str());
  }
  std::printf("\n\n");
}

std::vector<StackedBar> BarsOf(const std::vector<Group>& groups) {
  std::vector<StackedBar> bars;
  for (const Group& group : groups) {
    StackedBar bar{TitleOf(group.front()), {}};
    for (const SeriesFigures& figures : group) {
      if (!figures.whole)
        bar.parts.push_back({figures.interval, figures.work, static_cast<double>(figures.p50) / 1000});
    }
    bars.push_back(std::move(bar));
  }
  return bars;
}

}  // namespace

int RunBreakdown(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && AsksForHelp(arguments[0])) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  const absl::StatusOr<CommandLine> line = Parse(arguments);
  if (!line.ok()) return Misused(kVerb, line.status().message(), kUsage);
  const absl::StatusOr<std::vector<SeriesFigures>> series = Trace(*line);
  if (!series.ok()) return Failed(kVerb, series.status());
  const std::vector<Group> groups = GroupsOf(*series);
  for (const Group& group : groups) Print(group);
  if (groups.empty())
    std::puts("nothing was traced: no call of this process came or went over a connection of Skein's");
  if (line->svg.empty()) return 0;
  std::ofstream file(line->svg);
  file << DrawStackedBars(BarsOf(groups), "us, medians");
  file.close();
  return file.good() ? 0 : Failed(kVerb, absl::UnavailableError(absl::StrCat("cannot write ", line->svg)));
}

}  // namespace skein
