#include "core/wait/spin_budget.h"

#include "core/trace/counters.h"

namespace skein::wait {

namespace {

// Of the process. Beside the line that each wait's end writes anyway: trace::Count would cost as much again.
constinit std::atomic<uint64_t> spins_hit = 0;
constinit std::atomic<uint64_t> spins_missed = 0;

bool TellCounters() {
  trace::AddCounterSource([](trace::CounterSnapshot& counters) {
    counters.values[trace::SlotOf(trace::Counter::kSpinsHit)] += spins_hit.load(std::memory_order_relaxed);
    counters.values[trace::SlotOf(trace::Counter::kSpinsMissed)] += spins_missed.load(std::memory_order_relaxed);
  });
  return true;
}

}  // namespace

SpinBudget::SpinBudget(const SpinPolicy& policy) : policy_(policy) {
  [[maybe_unused]] static const bool told = TellCounters();
}

absl::Duration SpinBudget::Begin() {
  if (policy_.mode == WaitMode::kPoll) return absl::InfiniteDuration();
  if (policy_.mode == WaitMode::kBlock) return absl::ZeroDuration();
  if (hits_.load(std::memory_order_relaxed) >= kPays) return policy_.spin_time;
  if (skipped_.fetch_add(1, std::memory_order_relaxed) % kProbe != kProbe - 1) return absl::ZeroDuration();
  return policy_.spin_time;
}

void SpinBudget::Ended(bool came_while_spinning) {
  (came_while_spinning ? spins_hit : spins_missed).fetch_add(1, std::memory_order_relaxed);
  const int target = came_while_spinning ? kAll : 0;
  const int hits = hits_.load(std::memory_order_relaxed);
  hits_.store(hits + (target - hits) / kWeight, std::memory_order_relaxed);
}

}  // namespace skein::wait
