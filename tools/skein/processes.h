// The processes of this host.
#ifndef SKEIN_TOOLS_SKEIN_PROCESSES_H_
#define SKEIN_TOOLS_SKEIN_PROCESSES_H_

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace skein {

// By number.
inline std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t process = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &process)) all.push_back(process);
  }
  absl::c_sort(all);
  return all;
}

// As ps shows it.
inline std::string ProcessName(pid_t process) {
  std::string name;
  std::ifstream file(absl::StrCat("/proc/", process, "/comm"));
  std::getline(file, name);
  return name;
}

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_PROCESSES_H_
