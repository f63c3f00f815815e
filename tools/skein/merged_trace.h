// The traces of a process's libraries as one.
#ifndef SKEIN_TOOLS_SKEIN_MERGED_TRACE_H_
#define SKEIN_TOOLS_SKEIN_MERGED_TRACE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace skein {

// Each is trace::ChromeTrace's and numbers its links from 1 on; in the one they have numbers of their own. One alone
// is left as it is. DATA_LOSS: something else is among them.
absl::StatusOr<std::string> MergedTrace(std::vector<std::string> traces);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_MERGED_TRACE_H_
