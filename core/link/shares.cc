#include "core/link/shares.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/errno_status.h"

namespace skein::link {

Shares::Sender Shares::Join(uint16_t lanes, Activate activate) {
  MutexLock lock(&mu_);
  const Sender sender = scheduler_.Add(lanes).sender;
  members_[sender] = std::move(activate);
  return sender;
}

void Shares::Leave(Sender sender) {
  MutexLock lock(&mu_);
  scheduler_.Remove(sender);
  members_.erase(sender);
  if (over()) SetTimer();
}

bool Shares::Renew(Sender sender, uint16_t lane, uint16_t degree) {
  bool granted = false;
  Activations activations;
  {
    MutexLock lock(&mu_);
    // First what was before it: after a long silence nobody is busy.
    if (now_() >= IntervalEnd()) activations = EndInterval();
    const schedule::ReceiverScheduler::Answer answer = scheduler_.OnRenewal(sender, lane, degree);
    granted = answer.granted;
    if (answer.next.has_value()) Add(*answer.next, activations);
    if (scheduler_.waited_for() && !timer_runs_) SetTimer();
  }
  for (const auto& activate : activations) activate();
  return granted;
}

void Shares::OnClosed(Sender sender, uint16_t lane) {
  Activations activations;
  {
    MutexLock lock(&mu_);
    for (const auto& activation : scheduler_.OnClosed(sender, lane)) Add(activation, activations);
    if (scheduler_.waited_for() && !timer_runs_) SetTimer();
  }
  for (const auto& activate : activations) activate();
}

absl::Time Shares::IntervalEnd() const {
  return interval_began_ + (scheduler_.in_turns() ? intervals_.turn : intervals_.sharing);
}

Shares::Activations Shares::EndInterval() {
  const absl::Time now = now_();
  const int64_t intervals = scheduler_.in_turns() ? (now - interval_began_) / intervals_.turn : 1;
  Activations activations;
  for (const auto& activation : scheduler_.Redistribute(static_cast<uint64_t>(std::max<int64_t>(intervals, 1)))) {
    Add(activation, activations);
  }
  interval_began_ = now;
  return activations;
}

void Shares::Add(const schedule::ReceiverScheduler::Activation& activation, Activations& to) const {
  const auto member = members_.find(activation.sender);
  if (member == members_.end()) return;
  to.emplace_back([activate = member->second, lane = activation.queue_pair] { activate(lane); });
}

bool Shares::active(Sender sender, uint16_t lane) const {
  MutexLock lock(&mu_);
  return scheduler_.open(sender, lane);
}

absl::StatusOr<bool> Shares::BeginToWatch() {
  MutexLock lock(&mu_);
  if (!scheduler_.in_turns() || timer_.valid()) return false;
  timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_.valid()) return ErrnoStatus(errno, "make a timer for the turns of peers");
  return true;
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
    if (!scheduler_.waited_for() || now_() < IntervalEnd()) return false;
    activations = EndInterval();
  }
  for (const auto& activate : activations) activate();
  return true;
}

bool Shares::Arm() {
  MutexLock lock(&mu_);
  if (over()) return true;
  if (scheduler_.waited_for() && now_() >= IntervalEnd()) return false;
  if (scheduler_.waited_for() || timer_runs_) SetTimer();
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
  timer_runs_ = scheduler_.waited_for() || over();
  itimerspec when = {};
  const absl::Duration left = over() ? absl::ZeroDuration() : IntervalEnd() - now_();
  if (timer_runs_) when.it_value = absl::ToTimespec(std::max(left, absl::Nanoseconds(1)));
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace skein::link
