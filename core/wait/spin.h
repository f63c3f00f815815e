// One wait's spin: whether it pays, what it has cost, and when it gives its processor up for a moment.
//
// Where more threads wait than there are processors, the thread that they wait for needs one of theirs. sched_yield
// costs less than a microsecond, and to sleep and be woken costs twenty: so a spin yields, and only the time in which
// it has had a processor itself counts against its budget. Beside programs that compute without end a yield costs
// milliseconds: Contention finds out whether sleeping does better then.
#ifndef SKEIN_CORE_WAIT_SPIN_H_
#define SKEIN_CORE_WAIT_SPIN_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

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

// How often a thread that never sleeps looks at what is not its source: whether peers are still there, and who is new.
inline constexpr std::chrono::milliseconds kLook{1};
// How long a thread sleeps at most when the kernel has refused it a descriptor, or the watch on one.
inline constexpr std::chrono::milliseconds kUnwatched{10};

// The threads that wait for one thing, spinning or not. A hint.
class WaitingThreads {
 public:
  class One {
   public:
    explicit One(WaitingThreads& all) : all_(all) { all_.count_.fetch_add(1, std::memory_order_relaxed); }
    One(const One&) = delete;
    One& operator=(const One&) = delete;
    ~One() { all_.count_.fetch_sub(1, std::memory_order_relaxed); }

   private:
    WaitingThreads& all_;
  };
  int count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> count_{0};  // relaxed
};

// How long a wait that begins now is to spin: what `budget` gives, or nothing where Contention has found that sleeping
// does better, or where `together`, of which this thread is one, are more than four for each processor: so many spin
// and yield, and of more most would look in vain.
absl::Duration BeginSpin(SpinBudget& budget, const WaitingThreads* together = nullptr);

// How a spin treats other threads.
enum class Manner : uint8_t {
  kPolls,    // yields after 2 us at the earliest: a message that comes sooner is not to wait for a system call
  kWatches,  // another thread polls for it: yields from the start
  kServes,   // polls in a service that has other work for its processor: once others have had that for 50 us, it looks
             // once more, and is over
};

enum class Spun : uint8_t {
  kGoesOn,
  kFound,
  kInVain,
  kCalledAway,  // this thread has something else to do; nobody knows whether the spin would have paid
};

// A spin of this thread's, by the machine's clock and scheduler; after BeginSpin has given it a budget.
class Spin {
 public:
  // How many looks pass between two looks at the clock.
  static constexpr int kSeldom = 32;
  // And between two looks at everything that is not a message.
  static constexpr int kThorough = 16;

  Spin(SpinBudget& budget, absl::Duration longest, Manner manner);
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

  // Calls `found(bool thorough)` until that says that the awaited has come (kFound), or the time is over (kInVain), or
  // `seldom()` says either (kInVain, kCalledAway), which is called after the first look and now and then. The budget
  // hears what became of the spin. Once.
  template <class Found, class Seldom>
  Spun Until(Found found, Seldom seldom) {
    for (int turn = 0;; ++turn) {
      if (found(turn % kThorough == 0)) {
        budget_.Ended(Paid());
        return Spun::kFound;
      }
      if (turn % kSeldom != 0) continue;
      const Spun spun = turn == 0 || Pass() ? seldom() : Spun::kInVain;
      if (spun == Spun::kInVain) budget_.Ended(false);
      if (spun != Spun::kGoesOn) return spun;
    }
  }
  template <class Found>
  Spun Until(Found found) {
    return Until(found, [] { return Spun::kGoesOn; });
  }
  // The last time looked at.
  Deadline now() const { return pacer_.now(); }

 private:
  // Now and then. False: it is over.
  bool Pass();
  // When the awaited has come: whether the spin was worth while. Its processor may have been taken away since the last
  // Pass.
  bool Paid();
  // This thread has not looked at the clock since then. Gives what of it another program has had.
  Clock::duration TellAbsence(Deadline since);

  SpinBudget& budget_;
  const bool serves_;
  bool wanted_ = false;  // others have had its processor for long
  Pacer pacer_;
  Clock::duration ran_;  // by all threads of the process, at the last look at the clock
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_SPIN_H_
