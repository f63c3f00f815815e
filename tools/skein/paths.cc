#include "tools/skein/paths.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/inspect/attachment.h"
#include "core/inspect/live_paths.h"
#include "tools/skein/table.h"

namespace skein {
namespace {

constexpr char kUsage[] =
    "usage: skein paths [PID...]\n"
    "\n"
    "The connections of running processes that Skein has had a say in: over what they run, and why not over something\n"
    "better. Without a PID, of all processes of this user that have any.\n";

std::string NameOf(pid_t process) {
  std::string name;
  std::getline(std::ifstream(absl::StrCat("/proc/", process, "/comm")), name);
  return name;
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t process = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &process)) all.push_back(process);
  }
  absl::c_sort(all);
  return all;
}

using Rows = std::vector<std::vector<std::string>>;

absl::Status AddPathsOf(pid_t process, Rows& rows) {
  const absl::StatusOr<std::string> text = inspect::Ask(process, "paths");
  if (!text.ok()) return text.status();
  const absl::StatusOr<std::vector<inspect::LivePath>> paths = inspect::DecodePaths(*text);
  if (!paths.ok()) return paths.status();
  for (const inspect::LivePath& path : *paths) {
    rows.push_back({absl::StrCat(process), NameOf(process), path.framework, path.client ? "client" : "server",
                    path.local, path.peer, absl::StrCat(path.path, path.secure ? "+tls" : ""), path.why});
  }
  return absl::OkStatus();
}

// The processes to ask, or none and a word on why.
std::vector<pid_t> Processes(const std::vector<std::string>& arguments) {
  std::vector<pid_t> processes;
  for (const std::string& argument : arguments) {
    pid_t process = 0;
    if (!absl::SimpleAtoi(argument, &process) || process <= 0) {
      std::fprintf(stderr, "skein paths: '%s' is no process number\n%s", argument.c_str(), kUsage);
      return {};
    }
    processes.push_back(process);
  }
  return arguments.empty() ? AllProcesses() : processes;
}

}  // namespace

int RunPaths(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const std::vector<pid_t> processes = Processes(arguments);
  if (processes.empty()) return 2;
  Rows rows = {{"PID", "NAME", "FOR", "ROLE", "LOCAL", "PEER", "PATH", "WHY NOT BETTER"}};
  bool failed = false;
  for (const pid_t process : processes) {
    const absl::Status status = AddPathsOf(process, rows);
    if (status.ok() || arguments.empty()) continue;  // most processes of a machine have no Skein
    std::fprintf(stderr, "skein paths: %s\n", std::string(status.message()).c_str());
    failed = true;
  }
  if (rows.size() > 1)
    std::fputs(Table(std::move(rows)).c_str(), stdout);
  else if (!failed)
    std::puts("no connections");
  return failed ? 1 : 0;
}

}  // namespace skein
