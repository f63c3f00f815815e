// What a process is called.
#ifndef SKEIN_TOOLS_SKEIN_PROCESS_NAME_H_
#define SKEIN_TOOLS_SKEIN_PROCESS_NAME_H_

#include <sys/types.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace skein {

// As ps shows it; any bytes. Empty: it is not there.
inline std::string ProcessName(pid_t process) {
  std::string name;
  std::ifstream file(absl::StrCat("/proc/", process, "/comm"));
  std::getline(file, name);
  return name;
}

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_PROCESS_NAME_H_
