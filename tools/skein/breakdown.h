// skein breakdown: where the time of a process's calls goes, stage by stage.
#ifndef SKEIN_TOOLS_SKEIN_BREAKDOWN_H_
#define SKEIN_TOOLS_SKEIN_BREAKDOWN_H_

#include <string>
#include <vector>

namespace skein {

// The verb; gives the command's exit status.
int RunBreakdown(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_BREAKDOWN_H_
