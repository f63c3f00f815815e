// skein top: what the processes of this host send over Skein, second by second.
#ifndef SKEIN_TOOLS_SKEIN_TOP_H_
#define SKEIN_TOOLS_SKEIN_TOP_H_

#include <string>
#include <vector>

namespace skein {

// The verb; gives the command's exit status.
int RunTop(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_TOP_H_
