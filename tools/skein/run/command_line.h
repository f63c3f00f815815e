// The words behind `skein run`.
#ifndef SKEIN_TOOLS_SKEIN_RUN_COMMAND_LINE_H_
#define SKEIN_TOOLS_SKEIN_RUN_COMMAND_LINE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace skein::run {

struct CommandLine {
  bool help = false;
  bool dry_run = false;
  bool verbose = false;
  std::vector<std::pair<std::string, std::string>> variables;  // SKEIN_... and its value, the last said last
  std::vector<std::string> command;                            // the program and its arguments
};

// INVALID_ARGUMENT: called wrongly; names the nearest option.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& words);

}  // namespace skein::run

#endif  // SKEIN_TOOLS_SKEIN_RUN_COMMAND_LINE_H_
