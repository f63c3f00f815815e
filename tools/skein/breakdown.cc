#include "tools/skein/breakdown.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/errno_status.h"
#include "core/inspect/attachment.h"
#include "core/inspect/tracing.h"
#include "tools/skein/arguments.h"
#include "tools/skein/picture.h"
#include "tools/skein/recorded_trace.h"
#include "tools/skein/stacked_bar.h"
#include "tools/skein/stage_table.h"
#include "tools/skein/tracing.h"

namespace skein {
namespace {

using inspect::SeriesFigures;

constexpr char kVerb[] = "breakdown";
constexpr char kUsage[] =
    "usage: skein breakdown [--seconds=S] [--every=N] [--svg=FILE] [--png=FILE] PID\n"
    "       skein breakdown [--svg=FILE] [--png=FILE] TRACE\n"
    "\n"
    "Where the time of a process's calls goes: a table for each path, side and method, a line for each stage. Of the\n"
    "calls in TRACE, a file that skein record wrote, the same figures (./ before a name that is a number).\n"
    "\n"
    "  --seconds=S   traces for so long, then stops; 0: what has been traced until now (default: 3, or 0 where the\n"
    "                process traces already)\n"
    "  --every=N     traces one call of N (default 1)\n"
    "  --svg=FILE, --png=FILE\n"
    "                draws the medians as stacked bars, too\n";

struct CommandLine {
  std::optional<pid_t> process;
  std::string trace;  // instead of a process
  std::optional<double> seconds;
  std::optional<uint32_t> every;
  std::string svg;
  std::string png;
};

// A number is a process's, all else a file's name.
absl::Status SetSubject(CommandLine& line, absl::string_view argument) {
  if (line.process.has_value() || !line.trace.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("of one thing at a time, not of '", argument, "' too"));
  }
  if (absl::c_all_of(argument, absl::ascii_isdigit)) {
    line.process = ProcessNumber(argument);
    return line.process.has_value() ? absl::OkStatus() : NoProcessNumber(argument);
  }
  line.trace = std::string(argument);
  return absl::OkStatus();
}

// INVALID_ARGUMENT: called wrongly.
absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (absl::string_view argument : arguments) {
    absl::string_view value = argument;
    absl::Status status;
    if (absl::ConsumePrefix(&value, "--seconds=")) {
      status = ParseSeconds(value, line.seconds.emplace());
    } else if (absl::ConsumePrefix(&value, "--every=")) {
      status = ParseCount("--every", value, line.every.emplace());
    } else if (absl::ConsumePrefix(&value, "--svg=")) {
      line.svg = std::string(value);
    } else if (absl::ConsumePrefix(&value, "--png=")) {
      line.png = std::string(value);
    } else if (absl::StartsWith(argument, "-")) {
      status = UnknownOption(argument);
    } else {
      status = SetSubject(line, argument);
    }
    if (!status.ok()) return status;
  }
  if (!line.process.has_value() && line.trace.empty()) return absl::InvalidArgumentError("of which process, or trace?");
  if (!line.trace.empty() && (line.seconds.has_value() || line.every.has_value())) {
    return absl::InvalidArgumentError("what is in a trace is in it: --seconds and --every are for a process");
  }
  return line;
}

// For how long, if that is not said: who traces already has something to tell.
absl::StatusOr<double> DefaultSeconds(pid_t process) {
  const absl::StatusOr<std::string> every = inspect::Ask(process, "trace");
  if (!every.ok()) return every.status();
  return absl::c_any_of(*every, [](char digit) { return digit != '0'; }) ? 0 : 3;
}

absl::StatusOr<std::vector<SeriesFigures>> OfProcess(const CommandLine& line) {
  const pid_t process = *line.process;
  const absl::StatusOr<double> seconds = line.seconds.has_value() ? *line.seconds : DefaultSeconds(process);
  if (!seconds.ok()) return seconds.status();
  std::optional<TracingFor> tracing;
  if (*seconds > 0) {
    tracing.emplace(process, line.every.value_or(1), *seconds);
    if (!tracing->status().ok()) return tracing->status();
    absl::SleepFor(absl::Seconds(*seconds));
  }
  return inspect::AskSeries(process);
}

absl::StatusOr<std::vector<SeriesFigures>> OfTrace(const std::string& name) {
  std::ifstream file(name);
  file.peek();  // a folder can be opened, but not read
  if (file.bad() || !file.is_open())
    return absl::NotFoundError(ErrnoStatus(errno, absl::StrCat("read ", name)).message());
  absl::StatusOr<std::vector<SeriesFigures>> figures = FiguresOfTrace(file);
  if (figures.ok()) return figures;
  return absl::Status(figures.status().code(), absl::StrCat(name, ": ", figures.status().message()));
}

absl::Status Draw(const std::vector<StageGroup>& groups, const CommandLine& line) {
  std::vector<StackedBar> bars;
  bars.reserve(groups.size());
  for (const StageGroup& group : groups) bars.push_back(BarOf(group));
  const Picture picture = DrawStackedBars(bars, "us, medians");
  if (!line.svg.empty()) {
    if (absl::Status status = picture.SaveAsSvg(line.svg); !status.ok()) return status;
  }
  return line.png.empty() ? absl::OkStatus() : picture.SaveAsPng(line.png);
}

}  // namespace

int RunBreakdown(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && AsksForHelp(arguments[0])) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  const absl::StatusOr<CommandLine> line = Parse(arguments);
  if (!line.ok()) return Misused(kVerb, line.status().message(), kUsage);
  const absl::StatusOr<std::vector<SeriesFigures>> series =
      line->process.has_value() ? OfProcess(*line) : OfTrace(line->trace);
  if (!series.ok()) return Failed(kVerb, series.status());
  const std::vector<StageGroup> groups = GroupsOf(*series);
  for (const StageGroup& group : groups) std::puts(StageTable(group).c_str());
  if (groups.empty()) {
    std::puts("nothing was traced: no call came or went over a connection of Skein's");
  }
  if (line->svg.empty() && line->png.empty()) return 0;
  const absl::Status drawn = Draw(groups, *line);
  return drawn.ok() ? 0 : Failed(kVerb, drawn);
}

}  // namespace skein
