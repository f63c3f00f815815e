#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/errno_status.h"
#include "core/inspect/attachment.h"
#include "core/trace/chrome_trace.h"
#include "core/trace/recording.h"
#include "tools/skein/merged_trace.h"
#include "tools/skein/tracing.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

struct CommandLine {
  pid_t process = 0;
  std::optional<double> seconds;
  std::optional<uint32_t> every;
  std::optional<uint32_t> max;
  std::string file;
};

absl::StatusOr<std::string> Record(const CommandLine& line) {
  const double seconds = line.seconds.value_or(1);
  const TracingFor tracing(line.process, line.every.value_or(1), seconds);
  if (!tracing.status().ok()) return tracing.status();
  const absl::Status begun = inspect::Ask(line.process, absl::StrCat("record ", line.max.value_or(10'000))).status();
  if (!begun.ok()) return begun;
  absl::SleepFor(absl::Seconds(seconds));
  absl::StatusOr<std::vector<inspect::LibraryAnswer>> answers =
      inspect::AskEach(line.process, "recorded", {.bytes = trace::kMostTraceBytes, .lines = trace::kMostTraceBytes});
  if (!answers.ok()) return answers.status();
  std::vector<std::string> traces;
  traces.reserve(answers->size());
  for (inspect::LibraryAnswer& answer : *answers) traces.push_back(std::move(answer.text));
  return MergedTrace(std::move(traces));
}

absl::Status Check(const CommandLine& line) {
  return line.file.empty() ? absl::InvalidArgumentError("where to? --output FILE") : absl::OkStatus();
}

absl::StatusOr<int> Run(const CommandLine& line) {
  const auto why_not = [&line] { return ErrnoStatus(errno, absl::StrCat("write ", line.file)); };
  // First: nobody is to wait for a record that has no place.
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(line.file, ignored);
  std::ofstream file(line.file, std::ios::app);
  if (!file.is_open()) return why_not();
  const absl::StatusOr<std::string> events = Record(line);
  if (!events.ok()) {
    if (is_new) std::filesystem::remove(line.file, ignored);
    return events.status();
  }
  // A pipe or a terminal keeps what it has.
  if (std::filesystem::is_regular_file(line.file, ignored)) std::filesystem::resize_file(line.file, 0, ignored);
  file << *events;
  file.close();
  if (!file.good()) return why_not();
  return 0;
}

}  // namespace

Verb RecordVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {.name = "record",
          .summary = "a process's calls one by one, as a trace that viewers open",
          .about =
              "A process's calls one by one, with their stages, as trace events in JSON: for ui.perfetto.dev, "
              "chrome://tracing and skein breakdown.",
          .options = {{"-o,--output", "FILE", "writes there", Text(line->file)},
                      {"--seconds", "S", "for so long (default 1)", Number(line->seconds, 0, 3600, "seconds")},
                      {"--every", "N", "one call of N (default 1)", Number(line->every, 1, 1'000'000, "calls")},
                      {"--max", "N",
                       absl::StrCat("no more than so many, the first ones (default 10000, at most ",
                                    trace::Recording::kMost, ")"),
                       Number(line->max, 1, trace::Recording::kMost, "calls")}},
          .operand = {Operand::Count::kOne, "PID", "of which process?", Process(line->process)},
          .examples = {{"skein record -o calls.json 4711", "a second of process 4711; open the file in a viewer"}},
          .check = [line] { return Check(*line); },
          .run = [line] { return Run(*line); }};
}

}  // namespace skein
