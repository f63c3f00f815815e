#include "core/base/descriptors_left.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/fallback.h"

namespace skein {

// Opens none to find out: where one is left, another thread may need it at this moment. From above, because the kernel
// gives the lowest first.
bool DescriptorsLeft(int wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  std::vector<pollfd> highest(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(wanted) * 4));
  auto next = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  for (pollfd& each : highest) each = {.fd = --next, .events = 0, .revents = 0};
  if (poll(highest.data(), highest.size(), 0) < 0) return true;  // refused: that says nothing of descriptors
  return absl::c_count_if(highest, [](const pollfd& each) { return (each.revents & POLLNVAL) != 0; }) >= wanted;
}

absl::Status CheckDescriptorsLeft(int wanted) {
  if (DescriptorsLeft(wanted)) return absl::OkStatus();
  return FallbackError(FallbackCode::kResources, "few descriptors are left; raise the limit (ulimit -n)");
}

}  // namespace skein
