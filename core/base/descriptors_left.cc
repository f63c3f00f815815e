#include "core/base/descriptors_left.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/base/fallback.h"
#include "core/base/unique_fd.h"

namespace skein {

bool DescriptorsLeft(int wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  const UniqueFd lowest(eventfd(0, EFD_CLOEXEC));
  if (!lowest.valid()) return errno != EMFILE && errno != ENFILE;  // refused: that says nothing of descriptors
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  const int above = end - lowest.get();
  if (above < wanted || above >= 2 * wanted) return above >= wanted;
  int free = 1;  // the lowest
  for (int fd = lowest.get() + 1; fd < end; ++fd) free += fcntl(fd, F_GETFD) < 0 ? 1 : 0;
  return free >= wanted;
}

absl::Status CheckDescriptorsLeft(int wanted) {
  if (DescriptorsLeft(wanted)) return absl::OkStatus();
  return FallbackError(FallbackCode::kResources, "few descriptors are left; raise the limit (ulimit -n)");
}

}  // namespace skein
