// From a command's first word to the ELF file that runs.
#ifndef SKEIN_TOOLS_SKEIN_PROGRAM_EXECUTABLE_H_
#define SKEIN_TOOLS_SKEIN_PROGRAM_EXECUTABLE_H_

#include <string>

#include "absl/status/statusor.h"

namespace skein::program {

// Where the kernel or a shell finds a command: `word` itself if it has a slash, else by PATH. NOT_FOUND, or
// PERMISSION_DENIED if it is there and cannot be executed.
absl::StatusOr<std::string> FindExecutable(const std::string& word);

// `path` itself, or what runs it if it is a script: the interpreter's interpreter, too, and what env(1) looks for. As
// FindExecutable, of whatever is missing.
absl::StatusOr<std::string> InterpreterOf(const std::string& path);

}  // namespace skein::program

#endif  // SKEIN_TOOLS_SKEIN_PROGRAM_EXECUTABLE_H_
