#include "core/fabric/verbs/look_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/base/errno_status.h"

namespace skein::fabric::verbs {

absl::Status LookTimer::Open() {
  timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  return timer_.valid() ? absl::OkStatus() : ErrnoStatus(errno, "create a timer");
}

void LookTimer::Start() {
  if (due_.load(std::memory_order_relaxed) != 0) return;
  Clock::rep still = 0;
  const Clock::time_point due = Clock::now() + period_;
  if (!due_.compare_exchange_strong(still, due.time_since_epoch().count(), std::memory_order_relaxed)) return;
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(period_);
  itimerspec once = {};
  once.it_value.tv_sec = whole.count();
  once.it_value.tv_nsec = std::chrono::nanoseconds(period_ - whole).count();
  timerfd_settime(timer_.get(), 0, &once, nullptr);
}

// The clock spares most callers the system call. The timer is quiet again before the next Start.
bool LookTimer::TakeDue() {
  const Clock::rep due = due_.load(std::memory_order_relaxed);
  if (due == 0 || Clock::now().time_since_epoch().count() < due) return false;
  uint64_t times = 0;
  if (read(timer_.get(), &times, sizeof(times)) != sizeof(times)) return false;  // not yet, or another thread has it
  due_.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace skein::fabric::verbs
