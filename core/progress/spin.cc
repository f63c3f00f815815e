#include "core/progress/spin.h"

#include <sched.h>

#include "core/progress/spin_budget.h"

namespace skein::progress {
namespace {

// Of this process, whatever its threads spin for.
Yielding yielding;
std::atomic<int> spinning = 0;  // relaxed: a hint

int TurnsOfOthers() {
  static const int processors = Processors();
  return spinning.load(std::memory_order_relaxed) / processors;
}

}  // namespace

void Yielding::Took(Clock::duration time, Deadline now, int turns) {
  if (time < kDear + kTurn * turns) return;
  MutexLock lock(&mu_);
  if (now - window_ > kWindow) {
    window_ = now - time;
    dear_ = {};
  }
  dear_ += now - std::max(now - time, std::min(counted_, now));
  counted_ = std::max(counted_, now);
  if (dear_ >= kMost) until_.store((now + kRest).time_since_epoch().count(), std::memory_order_relaxed);
}

Spin::Spin(absl::Duration budget, std::chrono::microseconds yield_after) : pacer_(budget, yield_after, Clock::now()) {
  spinning.fetch_add(1, std::memory_order_relaxed);
}

Spin::~Spin() { spinning.fetch_sub(1, std::memory_order_relaxed); }

bool Spin::Pass() {
  passed_ = true;
  const Pacer::Then then = pacer_.Next(Clock::now(), yielding);
  if (then == Pacer::Then::kYield) {
    sched_yield();
    pacer_.Yielded(Clock::now(), yielding, TurnsOfOthers());
  }
  return then != Pacer::Then::kOver;
}

// Who yields leaves its processor to the others: only who does not has to count them.
int Spin::Runnable() { return yielding.pays(Clock::now()) ? 1 : 1 + spinning.load(std::memory_order_relaxed); }

}  // namespace skein::progress
