#include "core/base/descriptors_left.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/base/fallback.h"

namespace skein {

// Opens none to find out: where one is left, another thread may need it at this moment. From above, because the kernel
// gives the lowest first.
bool DescriptorsLeft(int wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  for (auto fd = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX)) - 1; fd >= 0 && wanted > 0; --fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    if (errno != EBADF) return true;  // refused: that says nothing of descriptors
    --wanted;
  }
  return wanted <= 0;
}

absl::Status CheckDescriptorsLeft(int wanted) {
  if (DescriptorsLeft(wanted)) return absl::OkStatus();
  return FallbackError(FallbackCode::kResources, "few descriptors are left; raise the limit (ulimit -n)");
}

}  // namespace skein
