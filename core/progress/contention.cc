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
  was_away_.store(true, std::memory_order_relaxed);
  if (!spins_freely() || !over(now) || !mu_.TryLock()) return;
  if (spins_freely() && over(now)) NextState(now);
  mu_.Unlock();
}

void Contention::NextState(Deadline now) {
  switch (state_.load(std::memory_order_relaxed)) {
    case State::kSpins:
      if (now - since_ > 2 * hold_) hold_ = kFirstHold;  // the last choice is old
      [[fallthrough]];
    case State::kSleeps:
      was_away_.store(false, std::memory_order_relaxed);
      return Enter(State::kTriesToSpin, kTrial, now);
    case State::kTriesToSpin:
      if (!was_away_.load(std::memory_order_relaxed)) return Choose(State::kSpins, now);
      spinning_ = Rate(now);
      return Enter(State::kTriesToSleep, kTrial, now);
    case State::kTriesToSleep:
      return Choose(Rate(now) < spinning_ ? State::kSpins : State::kSleeps, now);
  }
}

void Contention::Choose(State choice, Deadline now) {
  hold_ = choice == choice_ ? std::min<Clock::duration>(hold_ * kGrowth, kLongestHold) : kFirstHold;
  choice_ = choice;
  Enter(choice, hold_, now);
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
