// Whether this process does better by spinning or by sleeping while others want the processors, too. Pure, so that a
// test can set its clock.
//
// A thread that spins lets others run by sched_yield. A program that computes without end keeps the processor for a
// whole slice of the scheduler's, milliseconds; so does a cgroup that is out of quota, or a virtual machine's host. The
// kernel lets a sleeper that is woken go before such a program. But the peer's busy threads, and this process's own,
// take slices as long, and beside them spinning pays: a call between spinners costs a fraction of two wake-ups. The
// absence looks the same from inside. So the process tries both, one after the other, and goes on with what brought
// more bytes to it.
//
//             a long absence                 time is up, with an absence
//   spinning ----------------> trying to spin ----------------------------> trying to sleep
//      ^  ^                      |        ^                                    |       |
//      |  +---- time is up, -----+        |                                    |       |
//      |      without an absence          +--- time is up --- sleeping <-------+       |
//      |                                                    no clear difference        |
//      +------------------------- clearly more bytes arrived while spinning -----------+
//
// A choice that confirms the last one holds for longer. The process sees bytes, not latency: where traffic comes at a
// pace of its own, either way brings as much, and the process sleeps.
#ifndef SKEIN_CORE_WAIT_CONTENTION_H_
#define SKEIN_CORE_WAIT_CONTENTION_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"

namespace skein::wait {

// Any thread. Threads read the state without a lock. A thread that finds the state's time over changes the state; the
// others go on meanwhile. Lock: mu_, never waited for; `arrived` is called with it.
class Contention {
 public:
  // A spinner was away from its processor for so long: perhaps for a program that computes.
  static constexpr std::chrono::microseconds kLongAbsence{1000};
  // How long each way is tried: some slices of the scheduler's, and several of the longest absences. Without an absence
  // the process goes on trying to spin for a period of cgroups' quotas, in each of which a group stands still once.
  static constexpr std::chrono::milliseconds kTrial{20};
  static constexpr std::chrono::milliseconds kPeriod{100};
  static constexpr std::chrono::milliseconds kLongestTrial{400};
  static constexpr int kAbsences = 4;
  // Spinning is worth its processor time only if it brings so many times as many bytes.
  static constexpr double kClearly = 1.1;
  // How long a choice holds, and so many times as long if it is the same again.
  static constexpr std::chrono::milliseconds kFirstHold{100};
  static constexpr std::chrono::milliseconds kLongestHold{2000};
  static constexpr int kGrowth = 4;

  // `arrived` tells how many bytes have come to this process so far.
  explicit constexpr Contention(uint64_t (*arrived)()) : arrived_(arrived) {}

  // All threads may spin, and none has to look at the clock to ask.
  bool spins_freely() const { return state_.load(std::memory_order_relaxed) == State::kSpins; }
  // Whether a thread may begin to spin, or go on.
  bool MaySpin(Deadline now);
  // By a spinner that has been away for `time` until now.
  void Away(Clock::duration time, Deadline now);

 private:
  enum class State : uint8_t { kSpins, kTriesToSpin, kTriesToSleep, kSleeps };

  Clock::duration longest() const { return Clock::duration(longest_.load(std::memory_order_relaxed)); }
  bool over(Deadline now) const { return ToRep(now) >= until_.load(std::memory_order_relaxed); }
  void NextState(Deadline now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndSpinning(Deadline now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  State Better(double sleeping) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Enter(State state, Clock::duration time, Deadline now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Choose(State choice, Deadline now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  double Rate(Deadline now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static Clock::rep ToRep(Deadline time) { return time.time_since_epoch().count(); }

  uint64_t (*const arrived_)();

  // Read without a lock: hints, so relaxed. Written under mu_, but for longest_.
  std::atomic<State> state_{State::kSpins};
  std::atomic<Clock::rep> until_{0};    // of kSpins: until then absences do not count
  std::atomic<Clock::rep> longest_{0};  // absence in this state; if two threads store at once, the shorter may win

  Mutex mu_;
  Deadline since_ ABSL_GUARDED_BY(mu_);                     // when the state began
  uint64_t arrived_before_ ABSL_GUARDED_BY(mu_) = 0;        // `arrived` at that time
  State choice_ ABSL_GUARDED_BY(mu_) = State::kSpins;       // the last one
  Clock::duration hold_ ABSL_GUARDED_BY(mu_) = kFirstHold;  // of the last choice
  Clock::duration trial_ ABSL_GUARDED_BY(mu_) = kTrial;     // how long the next one is to take, by the last absences
  double spinning_ ABSL_GUARDED_BY(mu_) = 0;                // bytes a second while it spun
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_CONTENTION_H_
