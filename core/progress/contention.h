// Whether others want the processors that this process would spin on: pure, so that a test can set its clock.
//
// A thread that spins lets others run by sched_yield. Where those are threads like itself, the processor is back within
// microseconds. A program that computes without end keeps it for a whole slice of the scheduler's, milliseconds; so
// does a cgroup that is out of quota, or a virtual machine's host. The kernel lets a sleeper that is woken go before a
// program that computes, so beside such programs a thread should sleep and not spin.
//
//            a long absence                  time is up          enough yields without a long absence
//   free ---------------------> resting ------------------> probing --------------------------------> free
//                                  ^                            |
//                                  +----------------------------+
//                                        a long absence
//
// Beside a program that computes most yields are short all the same: the kernel lets a thread that has slept go first
// for a while. So a probe needs many. One thread at a time probes, and pays for what it finds with one long absence.
#ifndef SKEIN_CORE_PROGRESS_CONTENTION_H_
#define SKEIN_CORE_PROGRESS_CONTENTION_H_

#include <atomic>
#include <chrono>

#include "core/base/deadline.h"

namespace skein::progress {

// Any thread. Its numbers are hints: two threads that come at once may both probe.
class Contention {
 public:
  // A spinner that was away from its processor for so long has met a program that computes. Where others spin, too,
  // each may have had its turn meanwhile, and a turn takes so long.
  static constexpr std::chrono::microseconds kLongAbsence{1000};
  static constexpr std::chrono::microseconds kTurn{50};
  // How long nobody spins. Each rest is so many times as long as the last one, less the time since that ended.
  static constexpr std::chrono::milliseconds kFirstRest{10};
  static constexpr std::chrono::milliseconds kLongestRest{2000};
  static constexpr int kGrowth = 4;
  // Yields of a probe that end the contention, in one spin or in several.
  static constexpr int kEnough = 100;
  // A thread that probes for longer does so no longer alone: the kernel may keep it from its processor.
  static constexpr std::chrono::milliseconds kProbe{20};

  // Whether a spin may begin. True is to be followed by SpinEnded.
  bool MaySpin(Deadline now);
  // By a spinner that has been away for `time` until now. `turns`: of other spinners on its processor.
  void Away(Clock::duration time, Deadline now, int turns);
  // By a spinner that has let others run, and was not away for long.
  void Yielded() {
    if (!free_.load(std::memory_order_relaxed)) CountYield();
  }
  void SpinEnded(Deadline now);
  bool resting(Deadline now) const { return ToRep(now) < rest_until_.load(std::memory_order_relaxed); }

 private:
  void CountYield();
  static Clock::rep ToRep(Deadline time) { return time.time_since_epoch().count(); }

  // All relaxed: nothing else is read by their order.
  std::atomic<bool> free_{true};
  std::atomic<Clock::rep> rest_{0};         // how long the present or last rest is
  std::atomic<Clock::rep> rest_until_{0};   // when it ends or has ended
  std::atomic<Clock::rep> probe_until_{0};  // until then the thread that probes does so alone
  std::atomic<int> yields_{0};              // of the probe
};

}  // namespace skein::progress

#endif  // SKEIN_CORE_PROGRESS_CONTENTION_H_
