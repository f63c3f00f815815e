// One wait's spin: what it has cost, and when it gives its processor up for a moment.
//
// Where more threads wait than there are processors, the thread that they wait for needs one of theirs. sched_yield
// costs less than a microsecond, and to sleep and be woken costs twenty: so a spin yields, and only the time in which
// it has had a processor itself counts against its budget. Beside programs that compute without end a yield costs
// milliseconds: Contention finds out whether sleeping does better then.
#ifndef SKEIN_CORE_WAIT_SPIN_H_
#define SKEIN_CORE_WAIT_SPIN_H_

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/wait/spin_budget.h"

namespace skein::wait {

// What a spin does next. Pure; of one thread.
class Pacer {
 public:
  // Its own cost, of one that is longer: the rest was somebody else's time.
  static constexpr std::chrono::microseconds kYieldCosts{1};

  // Between two looks at the clock: somebody else has had the processor.
  static constexpr std::chrono::microseconds kTakenAway{300};

  enum class Then { kGoOn, kYield, kOver };

  // `budget`: of processor time; InfiniteDuration: as long as the wait. `yield_after`: a message that comes sooner is
  // not to wait for a system call.
  Pacer(absl::Duration budget, std::chrono::microseconds yield_after, Deadline now)
      : yield_after_(yield_after),
        budget_(budget == absl::InfiniteDuration() ? Clock::duration::max() : absl::ToChronoNanoseconds(budget)),
        last_(now) {}

  // What to do after some turns. kYield: then tell Yielded.
  Then Next(Deadline now) {
    Look(now);
    if (burned_ >= budget_) return Then::kOver;
    return burned_ < yield_after_ ? Then::kGoOn : Then::kYield;
  }
  void Yielded(Deadline now) {
    given_ = now - last_;
    burned_ += std::min<Clock::duration>(given_, kYieldCosts);
    last_ = now;
  }
  // At its end. Whether its processor was taken away from it: a sleeper would have been woken sooner.
  bool Disturbed(Deadline now) {
    Look(now);
    return disturbed_;
  }
  // The last time looked at.
  Deadline now() const { return last_; }
  // How long the last yield took: others had the processor meanwhile.
  Clock::duration given() const { return given_; }
  bool sleepless() const { return budget_ == Clock::duration::max(); }

 private:
  void Look(Deadline now) {
    disturbed_ |= now - last_ >= kTakenAway;
    burned_ += now - last_;
    last_ = now;
  }

  const Clock::duration yield_after_;
  const Clock::duration budget_;
  Clock::duration burned_{};
  Clock::duration given_{};
  bool disturbed_ = false;
  Deadline last_;
};

// How long a wait that begins now is to spin: what `budget` gives, or nothing where Contention has found that sleeping
// does better, or where spinners outnumber processors. `spinners`: threads that would spin for the same, this one
// included; more of them than processors only look in vain.
absl::Duration BeginSpin(SpinBudget& budget, int spinners = 1);

// A spin of this thread's, by the machine's clock and scheduler; after BeginSpin has given it a budget.
class Spin {
 public:
  Spin(absl::Duration budget, std::chrono::microseconds yield_after);
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

  // Now and then. False: it is over.
  bool Pass();
  // At the last Pass.
  Deadline now() const { return pacer_.now(); }
  // How long others have had its processor by its last yield.
  Clock::duration given() const { return pacer_.given(); }
  // At its end, when the awaited message has come: whether the spin was worth while. Its processor may have been taken
  // away since the last Pass.
  bool Paid();

 private:
  // This thread has not looked at the clock since then. Gives what of it another program has had.
  Clock::duration TellAbsence(Deadline since);

  Pacer pacer_;
  Clock::duration ran_;  // by all threads of the process, at the last look at the clock
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_SPIN_H_
