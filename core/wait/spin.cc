#include "core/wait/spin.h"

#include <sched.h>

#include <utility>

#include "core/trace/counters.h"
#include "core/wait/contention.h"
#include "core/wait/processors.h"
#include "core/wait/turn.h"

namespace skein::wait {
namespace {

uint64_t BytesReceived() {
  const trace::CounterSnapshot counters = trace::ReadCounters();
  uint64_t sum = 0;
  for (size_t path = 0; path < trace::kPaths; ++path) sum += counters.Value(trace::Counter::kBytesReceived, path);
  return sum;
}

// Of this process, whatever its threads spin for.
constinit Contention contention(BytesReceived);

// When each Manner yields, and when a serving spin ends.
constexpr std::chrono::microseconds kYieldAfter{2};
constexpr std::chrono::microseconds kWanted{50};
// With more threads that wait, none spins.
constexpr int kPerProcessor = 4;

constinit Turns turns;
constinit thread_local Turn turn;

// The thread has not looked at the clock for `away`, until `now`. Gives what of it another program has had.
Clock::duration TellAbsence(Clock::duration away, Clock::duration ran_before, Deadline now) {
  if (away < Contention::kLongAbsence || turns.Explain(away, ran_before, Processors())) return {};
  contention.Away(away, now);
  return away;
}

}  // namespace

absl::Duration BeginSpin(SpinBudget& budget, const WaitingThreads* together) {
  const absl::Duration longest = budget.Begin();
  if (longest == absl::ZeroDuration() || longest == absl::InfiniteDuration()) return longest;
  // The threads that one processor takes need no count of processors, which may have to read files.
  const int threads = together == nullptr ? 1 : together->count();
  if (threads > kPerProcessor && threads > kPerProcessor * Processors()) return absl::ZeroDuration();
  return contention.spins_freely() || contention.MaySpin(Clock::now()) ? longest : absl::ZeroDuration();
}

Spin::Spin(SpinBudget& budget, absl::Duration longest, Manner manner)
    : budget_(budget),
      serves_(manner == Manner::kServes),
      pacer_(longest, manner == Manner::kWatches ? std::chrono::microseconds::zero() : kYieldAfter, Clock::now()),
      ran_(turns.ran()) {}

Clock::duration Spin::TellAbsence(Deadline since) {
  if (pacer_.sleepless()) return {};
  return wait::TellAbsence(pacer_.now() - since, std::exchange(ran_, turns.ran()), pacer_.now());
}

bool Spin::Paid() {
  const Deadline before = pacer_.now();
  const bool disturbed = pacer_.Disturbed(Clock::now());
  TellAbsence(before);
  return !disturbed;
}

bool Spin::Pass() {
  if (wanted_) return false;
  const Deadline before = pacer_.now();
  const Pacer::Then then = pacer_.Next(Clock::now());
  if (then == Pacer::Then::kYield) {
    turns.Add(turn.Ran(pacer_.now()));
    sched_yield();
    pacer_.Yielded(Clock::now());
    wanted_ = serves_ && !pacer_.sleepless() && pacer_.given() >= kWanted;
  }
  const Clock::duration lost = TellAbsence(before);
  if (then == Pacer::Then::kYield) turn.Begin(pacer_.now(), lost);
  return pacer_.sleepless() ||
         (then != Pacer::Then::kOver && (contention.spins_freely() || contention.MaySpin(pacer_.now())));
}

void LetOthersRun() {
  const Deadline before = Clock::now();
  if (!turn.Over(before)) return;
  turns.Add(turn.Ran(before));
  const Clock::duration ran_before = turns.ran();
  sched_yield();
  const Deadline now = Clock::now();
  turn.Begin(now, TellAbsence(now - before, ran_before, now));
}

}  // namespace skein::wait
