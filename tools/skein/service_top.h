// skein top --service: who uses a host's skeind, look by look.
#ifndef SKEIN_TOOLS_SKEIN_SERVICE_TOP_H_
#define SKEIN_TOOLS_SKEIN_SERVICE_TOP_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/skein/service_activity.h"

namespace skein {

// One look after the other.
class ServiceTop {
 public:
  // Of these skeinds; none: of all that let themselves be asked.
  ServiceTop(std::vector<pid_t> processes, bool of_queue_pairs)
      : processes_(std::move(processes)), of_queue_pairs_(of_queue_pairs) {}

  struct Seen {
    std::vector<ServiceActivity> activities;
    std::vector<absl::Status> missed;  // why other skeinds are not among them
  };
  // Since the last look; the first has no rates. An error says why there is none to see.
  absl::StatusOr<Seen> Look();

 private:
  struct Sample {
    absl::Time when;
    ServiceNumbers numbers;
  };

  absl::StatusOr<Sample> Take(pid_t process) const;

  const std::vector<pid_t> processes_;
  const bool of_queue_pairs_;
  std::map<pid_t, Sample> before_;
};

// For a terminal of that width.
std::string ServiceTables(const std::vector<ServiceActivity>& activities, bool of_queue_pairs, size_t width);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_SERVICE_TOP_H_
