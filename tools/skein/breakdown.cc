#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/errno_status.h"
#include "core/inspect/attachment.h"
#include "core/inspect/tracing.h"
#include "tools/skein/facts_json.h"
#include "tools/skein/recorded_trace.h"
#include "tools/skein/stage_table.h"
#include "tools/skein/terminal.h"
#include "tools/skein/tracing.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

using inspect::SeriesFigures;

struct CommandLine {
  pid_t process = 0;
  std::string trace;  // instead of a process
  std::optional<double> seconds;
  std::optional<uint32_t> every;
  bool json = false;
};

// A number is a process's, all else a file's name.
Setter ProcessOrTrace(CommandLine& line) {
  return [&line](const std::string& word) {
    return absl::c_all_of(word, absl::ascii_isdigit) ? Process(line.process)(word) : Text(line.trace)(word);
  };
}

absl::Status Check(const CommandLine& line) {
  if (line.trace.empty() || (!line.seconds.has_value() && !line.every.has_value())) return absl::OkStatus();
  return absl::InvalidArgumentError("what is in a trace is in it: --seconds and --every are for a process");
}

// For how long, if that is not said: who traces already has something to tell.
absl::StatusOr<double> DefaultSeconds(pid_t process) {
  const absl::StatusOr<std::string> every = inspect::Ask(process, "trace");
  if (!every.ok()) return every.status();
  return absl::c_any_of(*every, [](char digit) { return digit != '0'; }) ? 0 : 3;
}

absl::StatusOr<std::vector<SeriesFigures>> OfProcess(const CommandLine& line) {
  const pid_t process = line.process;
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

void Print(const std::vector<StageGroup>& groups) {
  for (const StageGroup& group : groups) std::puts(StageTable(group, TerminalWidth()).c_str());
  if (groups.empty()) {
    std::puts("nothing was traced: no call came or went over a connection of Skein's");
  }
}

absl::StatusOr<int> Run(const CommandLine& line) {
  const absl::StatusOr<std::vector<SeriesFigures>> series = line.trace.empty() ? OfProcess(line) : OfTrace(line.trace);
  if (!series.ok()) return series.status();
  const std::vector<StageGroup> groups = GroupsOf(*series);
  line.json ? static_cast<void>(std::puts(StagesJson(groups).c_str())) : Print(groups);
  return 0;
}

}  // namespace

Verb BreakdownVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {.name = "breakdown",
          .summary = "where the time of a process's or a trace's calls goes, stage by stage",
          .about =
              "Where the time of a process's calls goes: a table for each path, side and method, a line for each "
              "stage. With TRACE, a file that skein record wrote, the same of the calls in it. (A file whose name is a "
              "number is ./4711.)",
          .options = {{"--seconds", "S",
                       "traces for so long, then stops; 0: shows the calls that have been traced until now (default: "
                       "3, or 0 where the process traces already)",
                       Number(line->seconds, 0, 3600, "seconds")},
                      {"--every", "N", "traces one call of N (default 1)", Number(line->every, 1, 1'000'000, "calls")},
                      JsonOption(line->json)},
          .operand = {Operand::Count::kOne, "PID|TRACE", "of which process, or trace?", ProcessOrTrace(*line)},
          .examples = {{"skein breakdown 4711", "the calls of process 4711 in the next three seconds"},
                       {"skein breakdown --seconds 10 --every 100 4711", "one call of 100, for ten seconds"},
                       {"skein breakdown calls.json", "the calls that skein record wrote"},
                       {"skein breakdown --json 4711 | skein-bars calls.svg", "draws the medians as stacked bars"}},
          .check = [line] { return Check(*line); },
          .run = [line] { return Run(*line); }};
}

}  // namespace skein
