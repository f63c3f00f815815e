// What the verbs' command lines have in common.
#ifndef SKEIN_TOOLS_SKEIN_ARGUMENTS_H_
#define SKEIN_TOOLS_SKEIN_ARGUMENTS_H_

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace skein {

inline bool AsksForHelp(absl::string_view argument) { return argument == "--help" || argument == "-h"; }

// The number of a process; none if it is not one.
inline std::optional<pid_t> ProcessNumber(absl::string_view argument) {
  pid_t process = 0;
  if (!absl::SimpleAtoi(argument, &process) || process <= 0) return std::nullopt;
  return process;
}

// INVALID_ARGUMENT, as are what the next ones give: says what is allowed.
inline absl::Status NoProcessNumber(absl::string_view argument) {
  return absl::InvalidArgumentError(absl::StrCat("'", argument, "' is no process number"));
}
inline absl::Status AddProcess(absl::string_view argument, std::vector<pid_t>& processes) {
  const std::optional<pid_t> process = ProcessNumber(argument);
  if (!process.has_value()) return NoProcessNumber(argument);
  processes.push_back(*process);
  return absl::OkStatus();
}
inline absl::Status UnknownOption(absl::string_view argument) {
  return absl::InvalidArgumentError(absl::StrCat("unknown option '", argument, "'"));
}
inline absl::Status ParseSeconds(absl::string_view value, double& seconds) {
  if (absl::SimpleAtod(value, &seconds) && seconds >= 0 && seconds <= 3600) return absl::OkStatus();
  return absl::InvalidArgumentError("--seconds is a number from 0 to 3600");
}
inline absl::Status ParseCount(absl::string_view option, absl::string_view value, uint32_t& count) {
  if (absl::SimpleAtoi(value, &count) && count > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is a number of calls"));
}

// Called wrongly: what is wrong, then the usage. Gives the exit status for that.
inline int Misused(absl::string_view verb, absl::string_view what, const char* usage) {
  std::fprintf(stderr, "skein %s: %s\n%s", std::string(verb).c_str(), std::string(what).c_str(), usage);
  return 2;
}
// It could not be done. Gives the exit status for that.
inline int Failed(absl::string_view verb, const absl::Status& status) {
  std::fprintf(stderr, "skein %s: %s\n", std::string(verb).c_str(), std::string(status.message()).c_str());
  return 1;
}

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_ARGUMENTS_H_
