#include "core/base/descriptors_left.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/fallback.h"

namespace skein {
namespace {

// Numbers that one call asks about, and that all of them do: of a table of a million that is full, asking takes long.
constexpr int kAtOnce = 256;
constexpr int kMostLooked = 4096;

}  // namespace

// Opens none to find out: where one is left, another thread may need it at this moment. From above, because the kernel
// gives the lowest first.
bool DescriptorsLeft(int wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  auto next = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  const int lowest = std::max(0, next - kMostLooked);
  std::vector<pollfd> numbers;
  while (wanted > 0 && next > lowest) {
    numbers.resize(static_cast<size_t>(std::min(next - lowest, kAtOnce)));
    for (pollfd& each : numbers) each = {.fd = --next, .events = 0, .revents = 0};
    if (poll(numbers.data(), numbers.size(), 0) < 0) return true;  // refused: that says nothing of descriptors
    wanted -=
        static_cast<int>(absl::c_count_if(numbers, [](const pollfd& each) { return (each.revents & POLLNVAL) != 0; }));
  }
  return wanted <= 0;
}

absl::Status CheckDescriptorsLeft(int wanted) {
  if (DescriptorsLeft(wanted)) return absl::OkStatus();
  return FallbackError(FallbackCode::kResources, "few descriptors are left; raise the limit (ulimit -n)");
}

}  // namespace skein
