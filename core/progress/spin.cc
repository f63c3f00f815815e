#include "core/progress/spin.h"

#include <sched.h>

#include <atomic>

#include "core/progress/contention.h"
#include "core/progress/processors.h"

namespace skein::progress {
namespace {

// Of this process, whatever its threads spin for.
Contention contention;
std::atomic<int> spinning = 0;  // relaxed: a hint

int TurnsOfOthers() { return spinning.load(std::memory_order_relaxed) / Processors(); }

}  // namespace

absl::Duration BeginSpin(SpinBudget& budget, int spinners) {
  const absl::Duration longest = budget.Begin();
  if (longest == absl::ZeroDuration() || longest == absl::InfiniteDuration()) return longest;
  // One spinner needs no count of the processors, which may have to read files.
  const bool may = (spinners == 1 || spinners <= Processors()) && contention.MaySpin(Clock::now());
  return may ? longest : absl::ZeroDuration();
}

Spin::Spin(absl::Duration budget, std::chrono::microseconds yield_after) : pacer_(budget, yield_after, Clock::now()) {
  spinning.fetch_add(1, std::memory_order_relaxed);
}

Spin::~Spin() {
  spinning.fetch_sub(1, std::memory_order_relaxed);
  if (pacer_.limited()) contention.SpinEnded(pacer_.now());
}

void Spin::Away(Deadline since) const {
  const Clock::duration time = pacer_.now() - since;
  if (time >= Contention::kLongAbsence) contention.Away(time, pacer_.now(), TurnsOfOthers());
}

bool Spin::Paid() {
  const Deadline before = pacer_.now();
  const bool disturbed = pacer_.Disturbed(Clock::now());
  if (!pacer_.sleepless()) Away(before);
  return !disturbed;
}

bool Spin::Pass() {
  const Deadline before = pacer_.now();
  const Pacer::Then then = pacer_.Next(Clock::now());
  if (then == Pacer::Then::kYield) {
    sched_yield();
    pacer_.Yielded(Clock::now());
  }
  if (pacer_.sleepless()) return true;
  if (then == Pacer::Then::kYield) contention.Yielded();
  Away(before);
  return then != Pacer::Then::kOver && !contention.resting(pacer_.now());
}

}  // namespace skein::progress
