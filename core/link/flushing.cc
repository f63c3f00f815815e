#include "core/link/flushing.h"

namespace skein::link {

bool Flushing::Flush(bool tells) {
  const bool back = blocks_.AllBack(tells);
  return queue_.Flush(tells) && back;
}

void Flushing::When(std::function<void(const absl::Status&)> then) {
  std::vector<std::function<void(const absl::Status&)>> waiters;
  {
    MutexLock lock(&mu_);
    waiters_.push_back(std::move(then));
    // Under the lock: a poll that finds it flushed from now on finds the waiter as well. If this finds it, no poll may.
    if (!Flushed()) return;
    waiters.swap(waiters_);
  }
  const absl::Status status = queue_.error();
  for (const auto& waiter : waiters) waiter(status);
}

void Flushing::Tell() {
  std::vector<std::function<void(const absl::Status&)>> waiters;
  {
    MutexLock lock(&mu_);
    // Asked under the lock: who has begun to wait since may have sent more.
    if (!Flush(/*tells=*/true)) return;
    waiters.swap(waiters_);
  }
  const absl::Status status = queue_.error();
  for (const auto& waiter : waiters) waiter(status);
  if (on_flushed_) on_flushed_();
}

}  // namespace skein::link
