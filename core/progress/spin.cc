#include "core/progress/spin.h"

#include <sched.h>

#include <utility>

#include "core/progress/contention.h"
#include "core/progress/processors.h"
#include "core/progress/turn.h"
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

constinit Turns turns;
constinit thread_local Turn turn;

bool MaySpin(Deadline now) { return contention.spins_freely() || contention.MaySpin(now); }

Deadline Yielded(Deadline since) {
  const Deadline now = Clock::now();
  turn.Begin(now);
  turns.Yielded(now - since);
  return now;
}

// The thread has not looked at the clock for `away`, until `now`.
void TellAbsence(Clock::duration away, uint64_t turns_before, Deadline now) {
  if (away < Contention::kLongAbsence || turns.Explain(away, turns_before)) return;
  contention.Away(away, now);
}

}  // namespace

absl::Duration BeginSpin(SpinBudget& budget, int spinners) {
  const absl::Duration longest = budget.Begin();
  if (longest == absl::ZeroDuration() || longest == absl::InfiniteDuration()) return longest;
  // One spinner needs no count of the processors, which may have to read files.
  if (spinners > 1 && spinners > Processors()) return absl::ZeroDuration();
  return MaySpin(Clock::now()) ? longest : absl::ZeroDuration();
}

Spin::Spin(absl::Duration budget, std::chrono::microseconds yield_after)
    : pacer_(budget, yield_after, Clock::now()), turns_(turns.so_far()) {}

bool Spin::Paid() {
  const Deadline before = pacer_.now();
  const bool disturbed = pacer_.Disturbed(Clock::now());
  if (!pacer_.sleepless()) TellAbsence(pacer_.now() - before, turns_, pacer_.now());
  return !disturbed;
}

bool Spin::Pass() {
  const Deadline before = pacer_.now();
  const Pacer::Then then = pacer_.Next(Clock::now());
  if (then == Pacer::Then::kYield) {
    const Deadline since = pacer_.now();
    sched_yield();
    pacer_.Yielded(Yielded(since));
  }
  if (pacer_.sleepless()) return true;
  TellAbsence(pacer_.now() - before, std::exchange(turns_, turns.so_far()), pacer_.now());
  return then != Pacer::Then::kOver && MaySpin(pacer_.now());
}

bool TurnIsOver(bool crowd) {
  const Deadline now = Clock::now();
  return turn.Over(now) && (crowd || MaySpin(now));
}

void Yield() {
  const uint64_t turns_before = turns.so_far();
  const Deadline since = Clock::now();
  sched_yield();
  const Deadline now = Yielded(since);
  TellAbsence(now - since, turns_before, now);
}

}  // namespace skein::progress
