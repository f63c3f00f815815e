// skein exporter: the metrics of running processes over HTTP, for Prometheus.
#ifndef SKEIN_TOOLS_SKEIN_EXPORTER_H_
#define SKEIN_TOOLS_SKEIN_EXPORTER_H_

#include <string>
#include <vector>

namespace skein {

// The verb; gives the command's exit status.
int RunExporter(const std::vector<std::string>& arguments);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_EXPORTER_H_
