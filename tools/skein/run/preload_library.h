// Where the preload library is, and how it gets into a program.
#ifndef SKEIN_TOOLS_SKEIN_RUN_PRELOAD_LIBRARY_H_
#define SKEIN_TOOLS_SKEIN_RUN_PRELOAD_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::run {

// The folder of this command's file; empty if that cannot be told.
std::string OwnFolder();

// The library that belongs to the command in `folder`: installed (../lib and its like) or in a build. NOT_FOUND says
// where it was looked for; FAILED_PRECONDITION: its path cannot stand in LD_PRELOAD.
absl::StatusOr<std::string> PreloadLibrary(const std::string& folder);

// The folder of the library that belongs to this command; empty if there is none.
std::string LibraryFolder();

// LD_PRELOAD's value with `library` in front; `before`: its value so far.
std::string WithLibrary(const std::string& library, absl::string_view before);

}  // namespace skein::run

#endif  // SKEIN_TOOLS_SKEIN_RUN_PRELOAD_LIBRARY_H_
