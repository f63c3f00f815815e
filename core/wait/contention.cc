#include "core/wait/contention.h"

#include <algorithm>

namespace skein::wait {
namespace {

Clock::duration TrialFor(Clock::duration longest_absence) {
  return std::clamp<Clock::duration>(Contention::kAbsences * longest_absence, Contention::kTrial,
                                     Contention::kLongestTrial);
}

}  // namespace

bool Contention::MaySpin(Deadline now) {
  if (!spins_freely() && over(now) && mu_.TryLock()) {
    if (over(now)) NextState(now);
    mu_.Unlock();
  }
  const State state = state_.load(std::memory_order_relaxed);
  return state == State::kSpins || state == State::kTriesToSpin;
}

void Contention::Away(Clock::duration time, Deadline now) {
  if (time < kLongAbsence || (spins_freely() && !over(now))) return;
  if (time.count() > longest_.load(std::memory_order_relaxed)) longest_.store(time.count(), std::memory_order_relaxed);
  if (!spins_freely() || !mu_.TryLock()) return;
  if (spins_freely() && over(now)) NextState(now);
  mu_.Unlock();
}

void Contention::NextState(Deadline now) {
  switch (state_.load(std::memory_order_relaxed)) {
    case State::kSpins:
      if (now - since_ > 2 * hold_) hold_ = kFirstHold;  // the last choice is old
      trial_ = TrialFor(longest());
      [[fallthrough]];
    case State::kSleeps:
      return Enter(State::kTriesToSpin, trial_, now);
    case State::kTriesToSpin:
      return EndSpinning(now);
    case State::kTriesToSleep:
      return Choose(Better(Rate(now)), now);
  }
}

void Contention::EndSpinning(Deadline now) {
  const Clock::duration tried = now - since_;
  const bool was_away = longest() > Clock::duration::zero();
  trial_ = TrialFor(longest());
  const Clock::duration wanted = was_away ? trial_ : kPeriod;
  if (tried < wanted) return until_.store(ToRep(since_ + wanted), std::memory_order_relaxed);
  if (!was_away) return Enter(State::kSpins, kFirstHold, now);  // there was nothing to compare
  spinning_ = Rate(now);
  Enter(State::kTriesToSleep, std::max(trial_, std::min<Clock::duration>(tried, kPeriod)), now);
}

// Nothing has arrived either way where a process only reads and writes its peer's memory: then the last choice stands.
Contention::State Contention::Better(double sleeping) const {
  if (spinning_ == 0 && sleeping == 0) return choice_;
  return spinning_ > kClearly * sleeping ? State::kSpins : State::kSleeps;
}

void Contention::Choose(State choice, Deadline now) {
  hold_ = choice == choice_ ? std::min<Clock::duration>(hold_ * kGrowth, kLongestHold) : kFirstHold;
  choice_ = choice;
  Enter(choice, std::max(hold_, kGrowth * trial_), now);
}

void Contention::Enter(State state, Clock::duration time, Deadline now) {
  since_ = now;
  arrived_before_ = arrived_();
  longest_.store(0, std::memory_order_relaxed);
  until_.store(ToRep(now + time), std::memory_order_relaxed);
  state_.store(state, std::memory_order_relaxed);
}

double Contention::Rate(Deadline now) const {
  return static_cast<double>(arrived_() - arrived_before_) / std::chrono::duration<double>(now - since_).count();
}

}  // namespace skein::wait
