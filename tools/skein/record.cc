#include "tools/skein/record.h"

#include <cstdio>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/inspect/attachment.h"
#include "core/trace/chrome_trace.h"
#include "core/trace/recording.h"
#include "tools/skein/arguments.h"
#include "tools/skein/merged_trace.h"
#include "tools/skein/tracing.h"

namespace skein {
namespace {

constexpr char kVerb[] = "record";
constexpr char kUsage[] =
    "usage: skein record [--seconds=S] [--every=N] [--most=N] -o FILE PID\n"
    "\n"
    "A process's calls one by one, with their stages, as trace events in JSON: for ui.perfetto.dev, chrome://tracing\n"
    "and skein breakdown.\n"
    "\n"
    "  --seconds=S   for so long (default 1)\n"
    "  --every=N     one call of N (default 1)\n"
    "  --most=N      no more than so many, the first ones (default 10000, at most 30000)\n"
    "  -o FILE       where to\n";

struct CommandLine {
  pid_t process = 0;
  double seconds = 1;
  uint32_t every = 1;
  uint32_t most = 10'000;
  std::string file;
};

absl::Status ParseMost(absl::string_view value, uint32_t& most) {
  absl::Status status = ParseCount("--most", value, most);
  if (!status.ok() || most <= trace::Recording::kMost) return status;
  return absl::InvalidArgumentError(absl::StrCat("--most is at most ", trace::Recording::kMost));
}

// INVALID_ARGUMENT: called wrongly.
absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view value = arguments[i];
    absl::Status status;
    if (value == "-o" && i + 1 < arguments.size()) {
      line.file = arguments[++i];
    } else if (absl::ConsumePrefix(&value, "--seconds=")) {
      status = ParseSeconds(value, line.seconds);
    } else if (absl::ConsumePrefix(&value, "--every=")) {
      status = ParseCount("--every", value, line.every);
    } else if (absl::ConsumePrefix(&value, "--most=")) {
      status = ParseMost(value, line.most);
    } else if (absl::StartsWith(value, "-")) {
      status = UnknownOption(value);
    } else if (const std::optional<pid_t> process = ProcessNumber(value); process.has_value() && line.process == 0) {
      line.process = *process;
    } else {
      status = NoProcessNumber(value);
    }
    if (!status.ok()) return status;
  }
  if (line.process == 0) return absl::InvalidArgumentError("of which process?");
  if (line.file.empty()) return absl::InvalidArgumentError("where to? -o FILE");
  return line;
}

absl::StatusOr<std::string> Record(const CommandLine& line) {
  const TracingFor tracing(line.process, line.every, line.seconds);
  if (!tracing.status().ok()) return tracing.status();
  const absl::Status begun = inspect::Ask(line.process, absl::StrCat("record ", line.most)).status();
  if (!begun.ok()) return begun;
  absl::SleepFor(absl::Seconds(line.seconds));
  absl::StatusOr<std::vector<inspect::LibraryAnswer>> answers =
      inspect::AskEach(line.process, "recorded", {.bytes = trace::kMostTraceBytes, .lines = trace::kMostTraceBytes});
  if (!answers.ok()) return answers.status();
  std::vector<std::string> traces;
  traces.reserve(answers->size());
  for (inspect::LibraryAnswer& answer : *answers) traces.push_back(std::move(answer.text));
  return MergedTrace(std::move(traces));
}

}  // namespace

int RunRecord(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && AsksForHelp(arguments[0])) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  const absl::StatusOr<CommandLine> line = Parse(arguments);
  if (!line.ok()) return Misused(kVerb, line.status().message(), kUsage);
  const absl::StatusOr<std::string> events = Record(*line);
  if (!events.ok()) return Failed(kVerb, events.status());
  std::ofstream file(line->file);
  file << *events;
  file.close();
  return file.good() ? 0 : Failed(kVerb, absl::UnavailableError(absl::StrCat("cannot write ", line->file)));
}

}  // namespace skein
