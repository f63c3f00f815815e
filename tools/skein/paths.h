// skein paths: who talks to whom over what, and why not over something better.
#ifndef SKEIN_TOOLS_SKEIN_PATHS_H_
#define SKEIN_TOOLS_SKEIN_PATHS_H_

#include <string>
#include <vector>

namespace skein {

// The verb; gives the command's exit status.
int RunPaths(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_PATHS_H_
