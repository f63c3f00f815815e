// Which libraries a program gets when it starts.
#ifndef SKEIN_TOOLS_SKEIN_PROGRAM_NEEDED_LIBRARIES_H_
#define SKEIN_TOOLS_SKEIN_PROGRAM_NEEDED_LIBRARIES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::program {

struct NeededLibrary {
  std::string name;  // as it is asked for: "libgrpc.so.29"
  std::string path;  // empty: it is not found
};

// In the order in which the dynamic linker searches them. Asks the dynamic linker of this process, which does not start
// the program for that, as if nothing were preloaded. UNAVAILABLE: it does not answer.
absl::StatusOr<std::vector<NeededLibrary>> NeededLibraries(const std::string& program);

// What the dynamic linker says, read.
std::vector<NeededLibrary> ReadList(absl::string_view list);

}  // namespace skein::program

#endif  // SKEIN_TOOLS_SKEIN_PROGRAM_NEEDED_LIBRARIES_H_
