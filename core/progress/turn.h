// How long a thread may keep its processor while others of the same service are ready to run.
//
// The kernel's scheduler lets a thread that never sleeps run for a whole slice, about three milliseconds. Over TCP a
// thread sleeps between two messages, and the others run meanwhile. A thread that polls finds the next message without
// sleeping; the others, and the calls that they serve, would wait for the end of the slice. So a thread that is about
// to wait yields its processor when its turn has been long enough. The turns also tell who has had the processor while
// a thread was away from it: other threads of the process that take turns, or another program.
#ifndef SKEIN_CORE_PROGRESS_TURN_H_
#define SKEIN_CORE_PROGRESS_TURN_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/base/deadline.h"

namespace skein::progress {

// One thread's turn: from a yield to the next one. Pure, so that a test can set its clock.
class Turn {
 public:
  // Ten threads that are ready wait for a millisecond. A yield costs less than a hundredth of a turn.
  static constexpr std::chrono::microseconds kLongest{100};

  bool Over(Deadline now) const { return now - since_ >= kLongest; }
  void Begin(Deadline now) { since_ = now; }

 private:
  Deadline since_{};
};

// How many yields of a process have given the processor to somebody. Any thread.
class Turns {
 public:
  // A shorter yield has found nobody who was ready.
  static constexpr std::chrono::microseconds kTaken{10};

  uint64_t so_far() const { return taken_.load(std::memory_order_relaxed); }
  void Yielded(Clock::duration away) {
    if (away >= kTaken) taken_.fetch_add(1, std::memory_order_relaxed);
  }
  // Whether the process's own threads account for a thread's absence: turns that fill half of it. The other half is
  // the peer's, if it runs on the same processors. `before`: so_far() when the absence began.
  bool Explain(Clock::duration away, uint64_t before) const { return (so_far() - before) * 2 * Turn::kLongest >= away; }

 private:
  std::atomic<uint64_t> taken_{0};  // relaxed: a hint
};

// Of the calling thread and of this process, by the machine's clock and scheduler.

// Whether the thread, about to wait, is to call Yield first. `crowd`: so many threads wait that ready ones are the
// process's own most of the time. Otherwise a yield may give a slice of milliseconds to a program that computes without
// end: no thread yields while Contention has found that the process does better by sleeping.
bool TurnIsOver(bool crowd);
// Lets other threads run. The caller holds no lock that they may want.
void Yield();

}  // namespace skein::progress

#endif  // SKEIN_CORE_PROGRESS_TURN_H_
