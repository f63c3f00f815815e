// The metrics of running processes, each asked when somebody wants to know.
#ifndef SKEIN_TOOLS_SKEIN_PROCESS_METRICS_H_
#define SKEIN_TOOLS_SKEIN_PROCESS_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "tools/skein/watched_processes.h"

namespace skein {

// Labels say of which process and program each is; the gauge skein_up, which processes have answered. Several are asked
// at once, and all have five seconds together: who is late, or gets no turn in time, has not answered.
class ProcessMetrics : public prometheus::Collectable {
 public:
  // Of these, as long as they live; null: of all that let themselves be asked.
  explicit ProcessMetrics(const WatchedProcesses* named) : named_(named) {}

  // Any thread, several at once.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const WatchedProcesses* const named_;
};

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_PROCESS_METRICS_H_
