#include "core/base/descriptors_left.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include "core/base/unique_fd.h"

namespace skein {

bool DescriptorsLeft(int wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  const UniqueFd lowest(eventfd(0, EFD_CLOEXEC));
  return lowest.valid() && static_cast<rlim_t>(lowest.get()) + static_cast<rlim_t>(wanted) <= limit.rlim_cur;
}

}  // namespace skein
