// One wait's spin: what it has cost, and when it gives its processor up for a moment.
//
// Where more threads wait than there are processors, whoever they wait for needs one of theirs. To give it up
// (sched_yield) costs less than a microsecond, to sleep and be woken twenty: so a spin yields, and only the time in
// which it has had a processor itself counts against its budget. But to whoever computes without end a yield gives a
// whole slice, milliseconds, where a sleeper that is woken would go first: where too much time goes that way, nobody
// yields for a while, nor spins where there are more of them than processors. Who never sleeps yields whatever it
// costs.
#ifndef SKEIN_CORE_PROGRESS_SPIN_H_
#define SKEIN_CORE_PROGRESS_SPIN_H_

#include <algorithm>
#include <atomic>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"

namespace skein::progress {

// Whether threads that spin give up their processors. Pure; any thread.
class Yielding {
 public:
  // A yield of that long is dear, and longer by that much for each other thread that may have had its turn meanwhile.
  static constexpr std::chrono::microseconds kDear{1000};
  static constexpr std::chrono::microseconds kTurn{50};
  // Some are, in a virtual machine whose processors are taken away now and then. So much of so long, and somebody
  // computes here:
  static constexpr std::chrono::milliseconds kMost{20};
  static constexpr std::chrono::milliseconds kWindow{50};
  // it is not tried again before that.
  static constexpr std::chrono::milliseconds kRest{1000};

  bool pays(Deadline now) const { return now.time_since_epoch().count() >= until_.load(std::memory_order_relaxed); }
  // `turns`: how many others on this processor may have had theirs.
  void Took(Clock::duration time, Deadline now, int turns);

 private:
  std::atomic<Clock::rep> until_ = 0;  // relaxed: a hint
  Mutex mu_;                           // for dear ones alone
  Deadline window_ ABSL_GUARDED_BY(mu_);
  Deadline counted_ ABSL_GUARDED_BY(mu_);        // the same time may be told of by many
  Clock::duration dear_ ABSL_GUARDED_BY(mu_){};  // of this window
};

// What a spin does next. Pure; of one thread.
class Pacer {
 public:
  // Its own cost, of one that is longer: the rest was somebody else's time.
  static constexpr std::chrono::microseconds kYieldCosts{1};

  // Between two looks at the clock: somebody else has had the processor.
  static constexpr std::chrono::microseconds kTakenAway{300};

  enum class Then { kGoOn, kYield, kOver };

  // `budget`: of processor time; InfiniteDuration: as long as the wait. `yield_after`: what comes sooner is not to wait
  // for a system call.
  Pacer(absl::Duration budget, std::chrono::microseconds yield_after, Deadline now)
      : yield_after_(yield_after),
        budget_(budget == absl::InfiniteDuration() ? Clock::duration::max() : absl::ToChronoNanoseconds(budget)),
        last_(now) {}

  // What to do after some turns. kYield: then tell Yielded.
  Then Next(Deadline now, const Yielding& yielding) {
    Look(now);
    if (burned_ >= budget_) return Then::kOver;
    if (burned_ < yield_after_) return Then::kGoOn;
    return sleepless() || yielding.pays(now) ? Then::kYield : Then::kGoOn;
  }
  void Yielded(Deadline now, Yielding& yielding, int turns) {
    const Clock::duration time = now - last_;
    given_ = time;
    burned_ += std::min<Clock::duration>(time, kYieldCosts);
    last_ = now;
    yielding.Took(time, now, turns);
  }
  // At its end. Whether its processor was taken away from it: whoever had slept would have been woken sooner.
  bool Disturbed(Deadline now) {
    Look(now);
    return disturbed_;
  }
  // The last time looked at.
  Deadline now() const { return last_; }
  // How long the last yield took: others had the processor meanwhile.
  Clock::duration given() const { return given_; }

 private:
  void Look(Deadline now) {
    disturbed_ |= now - last_ >= kTakenAway;
    burned_ += now - last_;
    last_ = now;
  }
  bool sleepless() const { return budget_ == Clock::duration::max(); }

  const Clock::duration yield_after_;
  const Clock::duration budget_;
  Clock::duration burned_{};
  Clock::duration given_{};
  bool disturbed_ = false;
  Deadline last_;
};

// A spin of this thread's, by the machine's clock and scheduler.
class Spin {
 public:
  Spin(absl::Duration budget, std::chrono::microseconds yield_after);
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;
  ~Spin();

  // Now and then. False: it is over.
  bool Pass();
  // At the last Pass.
  Deadline now() const { return pacer_.now(); }
  // How long others have had its processor by its last yield.
  Clock::duration given() const { return pacer_.given(); }
  // At its end, when what it is for has come: whether it was worth while.
  bool Paid() { return !passed_ || !pacer_.Disturbed(Clock::now()); }

  // For SpinBudget::Begin, by who is about to spin.
  static int Runnable();

 private:
  Pacer pacer_;
  bool passed_ = false;  // otherwise it was too short for another look at the clock
};

}  // namespace skein::progress

#endif  // SKEIN_CORE_PROGRESS_SPIN_H_
