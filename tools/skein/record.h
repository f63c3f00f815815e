// skein record: a process's calls one by one, as a trace that viewers open.
#ifndef SKEIN_TOOLS_SKEIN_RECORD_H_
#define SKEIN_TOOLS_SKEIN_RECORD_H_

#include <string>
#include <vector>

namespace skein {

// The verb; gives the command's exit status.
int RunRecord(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_RECORD_H_
