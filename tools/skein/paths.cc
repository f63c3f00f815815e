#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/inspect/attachment.h"
#include "core/inspect/live_paths.h"
#include "tools/skein/facts_json.h"
#include "tools/skein/process_name.h"
#include "tools/skein/table.h"
#include "tools/skein/terminal.h"
#include "tools/skein/verbs.h"

namespace skein {
namespace {

struct CommandLine {
  std::vector<pid_t> processes;  // none: all
  bool json = false;
};

// What is between the path and the program's calls, but for HTTP/2.
absl::string_view Layers(const inspect::LivePath& path) {
  if (path.below_http2) return "+calls";
  return path.secure ? "+tls" : "";
}

// Prints paths as they are found: what other processes say is not all kept at once.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void Add(pid_t process, const inspect::LivePath& path) {
    ++printed_;
    if (json_) return AddJson(PathJson(process, ProcessName(process), path));
    rows_.push_back({absl::StrCat(process), ProcessName(process), path.framework, path.client ? "client" : "server",
                     path.local, path.peer, absl::StrCat(path.path, Layers(path)), path.why});
    if (rows_.size() > kManyRows) PrintTable();
  }
  // `failed`: somebody has been told why there are fewer.
  void End(bool failed) {
    if (json_) {
      std::puts(printed_ == 0 ? "[]" : "\n]");
    } else if (rows_.size() > 1) {
      PrintTable();
    } else if (printed_ == 0 && !failed) {
      std::puts("no connections");
    }
  }

 private:
  using Rows = std::vector<std::vector<std::string>>;

  // Of a table, at least, before another one begins.
  static constexpr size_t kManyRows = 10'000;

  static Rows Heading() { return {{"PID", "NAME", "FOR", "ROLE", "LOCAL", "PEER", "PATH", "WHY NOT BETTER"}}; }

  void AddJson(const std::string& object) { std::printf("%s%s", printed_ == 1 ? "[\n" : ",\n", object.c_str()); }
  void PrintTable() { std::fputs(Table(std::exchange(rows_, Heading()), TerminalWidth()).c_str(), stdout); }

  const bool json_;
  Rows rows_ = Heading();
  size_t printed_ = 0;
};

absl::StatusOr<int> Run(const CommandLine& line) {
  const bool named = !line.processes.empty();
  Printer printer(line.json);
  bool failed = false;
  for (const pid_t process : named ? line.processes : inspect::ProcessesToAsk()) {
    const absl::StatusOr<std::vector<inspect::LivePath>> paths = inspect::AskPaths(process);
    if (paths.ok()) {
      for (const inspect::LivePath& path : *paths) printer.Add(process, path);
    } else if (named || inspect::IsMissed(paths.status())) {
      std::fprintf(stderr, "skein paths: %s\n", std::string(paths.status().message()).c_str());
      failed = true;
    }
  }
  printer.End(failed);
  return failed ? 1 : 0;
}

}  // namespace

Verb PathsVerb() {
  const auto line = std::make_shared<CommandLine>();
  return {
      .name = "paths",
      .summary = "what the connections of running processes use, and why not something better",
      .about =
          "The connections of running processes that asked for Skein or were asked: over what they run, and why not "
          "over something better. Without a PID, of all processes of this user that have any, in this network "
          "namespace. PATH says +tls where TLS runs on top, and +calls where gRPC's calls go below HTTP/2.",
      .options = {JsonOption(line->json)},
      .operand = {Operand::Count::kMany, "PID", "", Processes(line->processes)},
      .examples = {{"skein paths", "of all processes"},
                   {"skein paths 4711 4712", "of these two"},
                   {"skein paths --json", "the same as JSON"}},
      .run = [line] { return Run(*line); }};
}

}  // namespace skein
