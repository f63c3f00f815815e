// skein run: starts a program under the preload library, and says beforehand what will come of that.
#ifndef SKEIN_TOOLS_SKEIN_RUN_RUN_H_
#define SKEIN_TOOLS_SKEIN_RUN_RUN_H_

#include <string>
#include <vector>

namespace skein {

// Returns only if the program is not started: the exit status.
int RunProgram(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_RUN_RUN_H_
