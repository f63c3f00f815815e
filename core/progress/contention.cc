#include "core/progress/contention.h"

#include <algorithm>

namespace skein::progress {

bool Contention::MaySpin(Deadline now) {
  if (!spins_freely() && over(now) && mu_.TryLock()) {
    if (over(now)) NextState(now);
    mu_.Unlock();
  }
  const State state = state_.load(std::memory_order_relaxed);
  return state == State::kSpins || state == State::kTriesToSpin;
}

void Contention::Away(Clock::duration time, Deadline now) {
  if (time < kLongAbsence) return;
  if (time.count() > longest_.load(std::memory_order_relaxed)) longest_.store(time.count(), std::memory_order_relaxed);
  if (!spins_freely() || !over(now) || !mu_.TryLock()) return;
  if (spins_freely() && over(now)) NextState(now);
  mu_.Unlock();
}

void Contention::NextState(Deadline now) {
  switch (state_.load(std::memory_order_relaxed)) {
    case State::kSpins:
      if (now - since_ > 2 * hold_) hold_ = kFirstHold;  // the last choice is old
      trial_ = TimeToTry();
      [[fallthrough]];
    case State::kSleeps:
      longest_.store(0, std::memory_order_relaxed);
      return Enter(State::kTriesToSpin, trial_, now);
    case State::kTriesToSpin:
      return EndSpinning(now);
    case State::kTriesToSleep:
      return Choose(Rate(now) < spinning_ ? State::kSpins : State::kSleeps, now);
  }
}

// By the longest absence of late.
Clock::duration Contention::TimeToTry() const {
  const Clock::duration longest(longest_.load(std::memory_order_relaxed));
  return std::clamp<Clock::duration>(kAbsences * longest, kTrial, kLongestTrial);
}

void Contention::EndSpinning(Deadline now) {
  if (longest_.load(std::memory_order_relaxed) == 0) return Choose(State::kSpins, now);
  trial_ = TimeToTry();
  if (now < since_ + trial_) return until_.store(ToRep(since_ + trial_), std::memory_order_relaxed);
  spinning_ = Rate(now);
  Enter(State::kTriesToSleep, trial_, now);
}

void Contention::Choose(State choice, Deadline now) {
  hold_ = choice == choice_ ? std::min<Clock::duration>(hold_ * kGrowth, kLongestHold) : kFirstHold;
  choice_ = choice;
  Enter(choice, std::max(hold_, kGrowth * trial_), now);
}

void Contention::Enter(State state, Clock::duration time, Deadline now) {
  since_ = now;
  arrived_before_ = arrived_();
  until_.store(ToRep(now + time), std::memory_order_relaxed);
  state_.store(state, std::memory_order_relaxed);
}

double Contention::Rate(Deadline now) const {
  return static_cast<double>(arrived_() - arrived_before_) / std::chrono::duration<double>(now - since_).count();
}

}  // namespace skein::progress
