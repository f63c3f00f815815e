// One wait's spin: what it has cost, and when it gives its processor up for a moment. Pure, but for Pass.
//
// Where more threads wait than there are processors, whoever they wait for needs one of theirs. To give it up
// (sched_yield) costs less than a microsecond, to sleep and be woken twenty: so a spin yields, and only the time in
// which it has had a processor itself counts against its budget. But to whoever computes without end a yield gives a
// whole slice, milliseconds, where a sleeper that is woken would go first: after one that dear, nobody yields for a
// while.
#ifndef SKEIN_CORE_PROGRESS_SPIN_H_
#define SKEIN_CORE_PROGRESS_SPIN_H_

#include <algorithm>
#include <atomic>
#include <chrono>

#include "absl/time/time.h"
#include "core/base/deadline.h"

namespace skein::progress {

// Whether threads of this process give up their processors while they spin. Any thread.
class Yielding {
 public:
  // A yield of that long is dear, and longer by that much for each other thread of this process that may have had its
  // turn meanwhile.
  static constexpr std::chrono::microseconds kDear{1000};
  static constexpr std::chrono::microseconds kTurn{50};
  // One may be, in a virtual machine whose processor was taken away. But when dear ones follow each other for so long,
  // somebody computes here:
  static constexpr std::chrono::milliseconds kPatience{16};
  // all refrain from it for so many times as long, which costs them a few percent.
  static constexpr int kRest = 32;
  static constexpr Clock::duration kLongest = std::chrono::milliseconds(64);

  bool pays(Deadline now) const { return now.time_since_epoch().count() >= until_.load(std::memory_order_relaxed); }
  void Took(Clock::duration time, Deadline now, int others) {
    const Clock::duration dear = kDear + kTurn * others;
    if (time < dear) return;
    const Clock::rep end = now.time_since_epoch().count();
    const Clock::rep start = end - time.count();
    // Two threads may tell of the same time.
    const bool goes_on = start - last_.exchange(end, std::memory_order_relaxed) < dear.count();
    if (!goes_on) return first_.store(start, std::memory_order_relaxed);
    const Clock::duration all(end - first_.load(std::memory_order_relaxed));
    if (all >= kPatience) until_.store(end + (std::min(all, kLongest) * kRest).count(), std::memory_order_relaxed);
  }

 private:
  // Relaxed: hints.
  std::atomic<Clock::rep> until_ = 0;
  std::atomic<Clock::rep> first_ = 0;  // when the dear ones began that follow each other
  std::atomic<Clock::rep> last_ = 0;   // when the last of them ended
};

// Of one thread.
class Spin {
 public:
  // Its own cost, of one that is longer: the rest was somebody else's time.
  static constexpr std::chrono::microseconds kYieldCosts{1};

  enum class Then { kGoOn, kYield, kOver };

  // `budget`: of processor time; InfiniteDuration: as long as the wait. `yield_after`: what comes sooner is not to wait
  // for a system call.
  Spin(absl::Duration budget, std::chrono::microseconds yield_after, Deadline now)
      : yield_after_(yield_after),
        budget_(budget == absl::InfiniteDuration() ? Clock::duration::max() : absl::ToChronoNanoseconds(budget)),
        last_(now) {}

  // What to do after some turns. kYield: then tell Yielded.
  Then Next(Deadline now, const Yielding& yielding) {
    burned_ += now - last_;
    last_ = now;
    if (burned_ >= budget_) return Then::kOver;
    return burned_ >= yield_after_ && yielding.pays(now) ? Then::kYield : Then::kGoOn;
  }
  void Yielded(Deadline now, Yielding& yielding, int others) {
    const Clock::duration time = now - last_;
    burned_ += std::min<Clock::duration>(time, kYieldCosts);
    last_ = now;
    yielding.Took(time, now, others);
  }

  // Both, by the machine's clock and scheduler. False: it is over.
  bool Pass(Yielding& yielding, int others);
  // The last time looked at.
  Deadline now() const { return last_; }

 private:
  const Clock::duration yield_after_;
  const Clock::duration budget_;
  Clock::duration burned_{};
  Deadline last_;
};

}  // namespace skein::progress

#endif  // SKEIN_CORE_PROGRESS_SPIN_H_
