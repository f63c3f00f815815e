#ifndef SKEIN_TESTS_SUPPORT_DESCRIPTOR_LIMIT_H_
#define SKEIN_TESTS_SUPPORT_DESCRIPTOR_LIMIT_H_

#include <sys/resource.h>
#include <unistd.h>

#include "core/base/unique_fd.h"

namespace skein {

// UndefinedBehaviorSanitizer, which comes with AddressSanitizer here, looks at objects through a pipe: where there are
// no descriptors, each seems to be none.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitizerNeedsDescriptors = true;
#else
inline constexpr bool kSanitizerNeedsDescriptors = false;
#endif

// Leaves space for `count` more descriptors while it lives, if those that are open have no gaps.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int count) {
    const UniqueFd lowest(dup(0));
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit = {static_cast<rlim_t>(lowest.get() + count), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_DESCRIPTOR_LIMIT_H_
