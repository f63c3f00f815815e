#include "core/progress/spin_budget.h"

#include <sched.h>

namespace skein::progress {

int Processors() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return sched_getaffinity(0, sizeof(mine), &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

absl::Duration SpinBudget::Begin(int runnable) {
  if (policy_.mode == WaitMode::kPoll) return absl::InfiniteDuration();
  if (policy_.mode == WaitMode::kBlock || runnable > policy_.processors) return absl::ZeroDuration();
  if (hits_ >= kPays) return policy_.spin_time;
  if (++skipped_ % kProbe != 0) return absl::ZeroDuration();
  return policy_.spin_time;
}

void SpinBudget::Ended(bool came_while_spinning) {
  const int target = came_while_spinning ? kAll : 0;
  hits_ += (target - hits_) / kWeight;
}

}  // namespace skein::progress
