#include "tools/skein/watched_processes.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"

namespace skein {

absl::StatusOr<WatchedProcesses> WatchedProcesses::Open(const std::vector<pid_t>& processes) {
  WatchedProcesses watched;
  for (const pid_t process : processes) {
    // glibc has it for C only.
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (!fd.valid() && (errno == ESRCH || errno == EINVAL)) {
      return absl::NotFoundError(absl::StrCat("there is no process ", process));
    }
    if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("watch process ", process));
    watched.processes_.insert_or_assign(process, std::move(fd));
  }
  return watched;
}

// A descriptor of a process can be read once that has ended.
std::vector<pid_t> WatchedProcesses::Living() const {
  std::vector<pid_t> living;
  for (const auto& [process, fd] : processes_) {
    pollfd ended = {fd.get(), POLLIN, 0};
    if (poll(&ended, 1, 0) == 0) living.push_back(process);
  }
  return living;
}

bool WatchedProcesses::WaitForEndOr(int fd) const {
  std::vector<pollfd> waited = {{fd, POLLIN, 0}};
  for (const pid_t process : Living()) waited.push_back({processes_.at(process).get(), POLLIN, 0});
  const bool any = waited.size() > 1;
  while (poll(waited.data(), waited.size(), any ? -1 : 0) < 0 && errno == EINTR) {
  }
  return waited[0].revents != 0;
}

}  // namespace skein
