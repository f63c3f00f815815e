#include "tools/skein/paths.h"

#include <cstddef>
#include <cstdio>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/inspect/attachment.h"
#include "core/inspect/live_paths.h"
#include "tools/skein/arguments.h"
#include "tools/skein/process_name.h"
#include "tools/skein/table.h"

namespace skein {
namespace {

constexpr char kVerb[] = "paths";
constexpr char kUsage[] =
    "usage: skein paths [PID...]\n"
    "\n"
    "The connections of running processes that Skein has had a say in: over what they run, and why not over something\n"
    "better. Without a PID, of all processes of this user that have any. PATH says +tls where TLS runs on top, and "
    "+calls\n"
    "where gRPC's calls go below HTTP/2.\n";

using Rows = std::vector<std::vector<std::string>>;

// Of a table, at least, before another one begins: what other processes say is not all kept at once.
constexpr size_t kManyRows = 10'000;

Rows Heading() { return {{"PID", "NAME", "FOR", "ROLE", "LOCAL", "PEER", "PATH", "WHY NOT BETTER"}}; }

// What is between the path and the program's calls, but for HTTP/2.
absl::string_view Layers(const inspect::LivePath& path) {
  if (path.below_http2) return "+calls";
  return path.secure ? "+tls" : "";
}

absl::Status AddPathsOf(pid_t process, Rows& rows) {
  const absl::StatusOr<std::vector<inspect::LivePath>> paths = inspect::AskPaths(process);
  if (!paths.ok()) return paths.status();
  for (const inspect::LivePath& path : *paths) {
    rows.push_back({absl::StrCat(process), ProcessName(process), path.framework, path.client ? "client" : "server",
                    path.local, path.peer, absl::StrCat(path.path, Layers(path)), path.why});
  }
  return absl::OkStatus();
}

// The processes to ask, or none and a word on why.
std::vector<pid_t> Processes(const std::vector<std::string>& arguments) {
  std::vector<pid_t> processes;
  for (const std::string& argument : arguments) {
    if (const absl::Status status = AddProcess(argument, processes); !status.ok()) {
      Misused(kVerb, status.message(), kUsage);
      return {};
    }
  }
  return arguments.empty() ? inspect::ProcessesToAsk() : processes;
}

}  // namespace

int RunPaths(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && AsksForHelp(arguments[0])) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  const std::vector<pid_t> processes = Processes(arguments);
  if (processes.empty() && !arguments.empty()) return 2;
  Rows rows = Heading();
  bool any = false;
  bool failed = false;
  for (const pid_t process : processes) {
    if (rows.size() > kManyRows) std::fputs(Table(std::exchange(rows, Heading())).c_str(), stdout);
    const absl::Status status = AddPathsOf(process, rows);
    any = any || rows.size() > 1;
    if (status.ok() || arguments.empty()) continue;  // most processes of a machine have no Skein
    Failed(kVerb, status);
    failed = true;
  }
  if (rows.size() > 1) std::fputs(Table(std::move(rows)).c_str(), stdout);
  if (!any && !failed) {
    std::puts("no connections");
  }
  return failed ? 1 : 0;
}

}  // namespace skein
