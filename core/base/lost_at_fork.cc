#include "core/base/lost_at_fork.h"

#include <sched.h>
#include <unistd.h>

namespace skein {
namespace {

enum class Found : uint64_t { kTries, kFree, kLost };

uint64_t By(pid_t process, Found found) { return static_cast<uint64_t>(process) << 2 | static_cast<uint64_t>(found); }

}  // namespace

bool LostAtFork::IsLostInChild() {
  const pid_t process = getpid();
  uint64_t found = found_.load(std::memory_order_acquire);
  while (found != By(process, Found::kFree) && found != By(process, Found::kLost)) {
    if (found == By(process, Found::kTries)) {  // another thread, which does not wait
      sched_yield();
      found = found_.load(std::memory_order_acquire);
    } else if (found_.compare_exchange_weak(found, By(process, Found::kTries), std::memory_order_acq_rel)) {
      const bool free = mu_.TryLock();
      if (free) mu_.Unlock();
      found = By(process, free ? Found::kFree : Found::kLost);
      found_.store(found, std::memory_order_release);
    }
  }
  return found == By(process, Found::kLost);
}

}  // namespace skein
