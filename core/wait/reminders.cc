#include "core/wait/reminders.h"

#include <sys/timerfd.h>

#include <utility>

namespace skein::wait {

Reminders::Reminders() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

void Reminders::Remind(std::weak_ptr<Reminder> reminder) {
  MutexLock lock(&mu_);
  waiting_.push_back(std::move(reminder));
  if (end_ != Deadline::max()) return;
  end_ = Clock::now() + kMoment;
  SetTimer(kMoment);
}

// Zero: no more, and the descriptor is quiet, whether or not the time was up.
void Reminders::SetTimer(std::chrono::nanoseconds time) {
  itimerspec once = {};
  once.it_value.tv_nsec = time.count();
  timerfd_settime(timer_.get(), 0, &once, nullptr);
}

// Reminders are called without the lock: a writer that wants another one does not wait for them.
bool Reminders::Poll() {
  std::vector<std::weak_ptr<Reminder>> due;
  {
    MutexLock lock(&mu_);
    if (Clock::now() < end_) return false;
    SetTimer(std::chrono::nanoseconds::zero());
    end_ = Deadline::max();
    due.swap(waiting_);
  }
  for (std::weak_ptr<Reminder>& waiting : due) {
    const std::shared_ptr<Reminder> reminder = waiting.lock();
    if (reminder != nullptr && reminder->Due()) Remind(std::move(waiting));
  }
  return false;  // no message has come
}

}  // namespace skein::wait
