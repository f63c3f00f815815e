// The words behind `skein run`.
#ifndef SKEIN_TOOLS_SKEIN_RUN_COMMAND_LINE_H_
#define SKEIN_TOOLS_SKEIN_RUN_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/skein/verb.h"

namespace skein::run {

struct CommandLine {
  bool dry_run = false;
  bool verbose = false;
  bool require = false;                                        // --require, which is among `variables`, too
  std::vector<std::pair<std::string, std::string>> variables;  // SKEIN_... and its value, the last said last
  std::vector<std::string> command;                            // the program and its arguments
};

// The verb, which calls `run` with what it was told.
Verb Declare(std::function<int(const CommandLine&)> run);

}  // namespace skein::run

#endif  // SKEIN_TOOLS_SKEIN_RUN_COMMAND_LINE_H_
