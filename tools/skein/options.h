// skein options: the table of docs/options.md, for terminals.
#ifndef SKEIN_TOOLS_SKEIN_OPTIONS_H_
#define SKEIN_TOOLS_SKEIN_OPTIONS_H_

#include <string>
#include <vector>

namespace skein {

// The verb; gives the command's exit status.
int RunOptions(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_OPTIONS_H_
