// skein metrics: a process's counters and durations, as Prometheus' text.
#ifndef SKEIN_TOOLS_SKEIN_METRICS_H_
#define SKEIN_TOOLS_SKEIN_METRICS_H_

#include <string>
#include <vector>

namespace skein {

// The verb; gives the command's exit status.
int RunMetrics(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_METRICS_H_
