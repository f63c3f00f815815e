#include "core/link/shares.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/errno_status.h"

namespace skein::link {

absl::StatusOr<Shares::Sender> Shares::Join(Activate activate) {
  MutexLock lock(&mu_);
  const Sender sender = turns_.Add();
  if (turns_.in_turns() && !timer_.valid()) {
    timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_.valid()) {
      const int error = errno;
      turns_.Remove(sender);
      return ErrnoStatus(error, "make a timer for the turns of peers");
    }
  }
  members_[sender] = std::move(activate);
  return sender;
}

void Shares::Leave(Sender sender) {
  MutexLock lock(&mu_);
  turns_.Remove(sender);
  members_.erase(sender);
  if (over()) SetTimer();
}

bool Shares::Renew(Sender sender) {
  bool granted = false;
  Activations activations;
  {
    MutexLock lock(&mu_);
    // First what was before it: after a long silence nobody is busy.
    if (now_() >= IntervalEnd()) activations = EndInterval();
    const schedule::Turns::Answer answer = turns_.OnRenewal(sender);
    granted = answer.granted;
    if (answer.next.has_value()) Add(*answer.next, activations);
    if (turns_.waited_for() && !timer_runs_) SetTimer();
  }
  for (const auto& activate : activations) activate();
  return granted;
}

Shares::Activations Shares::EndInterval() {
  const absl::Time now = now_();
  const int64_t intervals = (now - interval_began_) / turn_;
  Activations activations;
  for (const Sender sender : turns_.Redistribute(static_cast<uint64_t>(std::max<int64_t>(intervals, 1)))) {
    Add(sender, activations);
  }
  interval_began_ = now;
  return activations;
}

void Shares::Add(Sender sender, Activations& to) const {
  const auto member = members_.find(sender);
  if (member != members_.end()) to.push_back(member->second);
}

bool Shares::active(Sender sender) const {
  MutexLock lock(&mu_);
  return turns_.open(sender);
}

bool Shares::BeginToWatch() {
  MutexLock lock(&mu_);
  return timer_.valid() && !std::exchange(watched_, true);
}

void Shares::Close() {
  MutexLock lock(&mu_);
  closed_ = true;
  if (over()) SetTimer();
}

bool Shares::Poll() {
  Activations activations;
  {
    MutexLock lock(&mu_);
    if (!turns_.waited_for() || now_() < IntervalEnd()) return false;
    activations = EndInterval();
  }
  for (const auto& activate : activations) activate();
  return true;
}

bool Shares::Arm() {
  MutexLock lock(&mu_);
  if (over()) return true;
  if (turns_.waited_for() && now_() >= IntervalEnd()) return false;
  if (turns_.waited_for() || timer_runs_) SetTimer();
  return true;
}

int Shares::fd() const {
  MutexLock lock(&mu_);
  return timer_.get();
}

bool Shares::finished() const {
  MutexLock lock(&mu_);
  return over();
}

// To the end of the interval, or not at all if nobody waits; to now if all is over, for whoever sleeps on it. A timer
// that has run out is quiet again.
void Shares::SetTimer() {
  if (!timer_.valid()) return;
  timer_runs_ = turns_.waited_for() || over();
  itimerspec when = {};
  const absl::Duration left = over() ? absl::ZeroDuration() : IntervalEnd() - now_();
  if (timer_runs_) when.it_value = absl::ToTimespec(std::max(left, absl::Nanoseconds(1)));
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace skein::link
