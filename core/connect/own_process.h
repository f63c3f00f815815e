// Whether this is still the process that made an object.
#ifndef SKEIN_CORE_CONNECT_OWN_PROCESS_H_
#define SKEIN_CORE_CONNECT_OWN_PROCESS_H_

#include <unistd.h>

#include "absl/status/status.h"
#include "core/base/fallback.h"
#include "core/base/forked.h"

namespace skein::connect {

// A child made by fork shares its parent's links in appearance only; and where its parent had begun to use Skein, the
// threads that would look after links of its own are not there. It asks before it takes a lock: a thread of the parent
// may have had that.
inline Fallback WhyNotForked() { return {FallbackCode::kResources, "forked after Skein was started"}; }

class OwnProcess {
 public:
  absl::Status CheckNotForked() const {
    if (getpid() == pid_ && !InForkedChild()) return absl::OkStatus();
    return FallbackError(WhyNotForked());
  }

 private:
  const pid_t pid_ = getpid();
};

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_OWN_PROCESS_H_
