// How long a thread may keep its processor while other threads of the same service are ready to run.
//
// The kernel's scheduler lets a thread that never sleeps run for a whole slice, about three milliseconds. Over TCP a
// thread sleeps between two messages, and the others run meanwhile. A thread that polls finds the next message without
// sleeping; the others, and the calls that they serve, would wait for the end of the slice. So a thread yields before a
// wait, but not before 100 us have passed since its last yield.
//
// Beside a program that computes without end, a yield gives that program a slice. The thread takes a turn of ten times
// the absence then: it loses a tenth of its time at most. Absences that the process's own threads account for lengthen
// no turn.
#ifndef SKEIN_CORE_WAIT_TURN_H_
#define SKEIN_CORE_WAIT_TURN_H_

#include <algorithm>
#include <atomic>
#include <chrono>

#include "core/base/deadline.h"

namespace skein::wait {

// One thread's turn: from a yield to the next one. Pure, so that a test can set its clock.
class Turn {
 public:
  // The last of ten ready threads waits for a millisecond. A yield costs less than a hundredth of a turn.
  static constexpr std::chrono::microseconds kShortest{100};
  static constexpr int kTimesLost = 10;

  bool Over(Deadline now) const { return now - since_ >= length_; }
  // How much of it the thread may have spent on the processor.
  Clock::duration Ran(Deadline now) const { return std::min<Clock::duration>(now - since_, kShortest); }
  // After a yield that cost the thread `lost` of another program's making.
  void Begin(Deadline now, Clock::duration lost) {
    since_ = now;
    length_ = std::max<Clock::duration>(kShortest, kTimesLost * lost);
  }

 private:
  Deadline since_{};
  Clock::duration length_ = kShortest;
};

// The time that all threads of a process have run. Any thread.
class Turns {
 public:
  Clock::duration ran() const { return Clock::duration(ran_.load(std::memory_order_relaxed)); }
  void Add(Clock::duration ran) { ran_.fetch_add(ran.count(), std::memory_order_relaxed); }
  // Whether the process's own threads account for a thread's absence: they ran for a third of what `processors` can do
  // in that time. Their peers may have had the rest. `before`: ran() when the absence began.
  bool Explain(Clock::duration away, Clock::duration before, int processors) const {
    return (ran() - before) * 3 >= away * processors;
  }

 private:
  std::atomic<Clock::rep> ran_{0};  // relaxed: a hint
};

// Of the calling thread and of this process, by the machine's clock and scheduler: yields if the thread's turn is over.
// By a thread that is about to wait, holds no lock that others may want, and has sent what it has to send.
void LetOthersRun();

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_TURN_H_
