#include "core/progress/spin.h"

#include <sched.h>

#include "core/progress/contention.h"
#include "core/progress/processors.h"
#include "core/trace/counters.h"

namespace skein::progress {
namespace {

uint64_t BytesReceived() {
  const trace::CounterSnapshot counters = trace::ReadCounters();
  uint64_t sum = 0;
  for (size_t path = 0; path < trace::kPaths; ++path) sum += counters.Value(trace::Counter::kBytesReceived, path);
  return sum;
}

// Of this process, whatever its threads spin for.
constinit Contention contention(BytesReceived);

}  // namespace

absl::Duration BeginSpin(SpinBudget& budget, int spinners) {
  const absl::Duration longest = budget.Begin();
  if (longest == absl::ZeroDuration() || longest == absl::InfiniteDuration()) return longest;
  // One spinner needs no count of the processors, which may have to read files.
  if (spinners > 1 && spinners > Processors()) return absl::ZeroDuration();
  return contention.spins_freely() || contention.MaySpin(Clock::now()) ? longest : absl::ZeroDuration();
}

void Spin::Away(Deadline since) const { contention.Away(pacer_.now() - since, pacer_.now()); }

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
  Away(before);
  return then != Pacer::Then::kOver && (contention.spins_freely() || contention.MaySpin(pacer_.now()));
}

}  // namespace skein::progress
