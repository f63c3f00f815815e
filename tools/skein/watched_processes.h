// Processes whose ends are noticed.
#ifndef SKEIN_TOOLS_SKEIN_WATCHED_PROCESSES_H_
#define SKEIN_TOOLS_SKEIN_WATCHED_PROCESSES_H_

#include <sys/types.h>

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace skein {

// The very processes, not whoever gets their numbers later. Any thread.
class WatchedProcesses {
 public:
  // NOT_FOUND: one is not there.
  static absl::StatusOr<WatchedProcesses> Open(const std::vector<pid_t>& processes);

  // Those that have not ended, by number.
  std::vector<pid_t> Living() const;
  // Until one of the living ends, or there is something to read from `fd`; at once if none lives. Whether it is that
  // of `fd`.
  bool WaitForEndOr(int fd) const;

 private:
  std::map<pid_t, UniqueFd> processes_;
};

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_WATCHED_PROCESSES_H_
