// When somebody should look whether a device's requests make progress. Some devices forget a request, and report
// neither its end nor an error (Linux 6.1's Soft-RoCE, after its link was down).
#ifndef SKEIN_CORE_FABRIC_VERBS_LOOK_TIMER_H_
#define SKEIN_CORE_FABRIC_VERBS_LOOK_TIMER_H_

#include <atomic>
#include <chrono>

#include "absl/status/status.h"
#include "core/base/deadline.h"
#include "core/base/unique_fd.h"

namespace skein::fabric::verbs {

// Any thread. The timer runs only while it has been started and nobody has looked since: an idle process sleeps.
class LookTimer {
 public:
  explicit LookTimer(std::chrono::milliseconds period) : period_(period) {}
  absl::Status Open();

  // Readable once the time is up, until a thread has taken it.
  int fd() const { return timer_.get(); }
  // By a thread that has posted a request. While the timer runs, this costs a load.
  void Start();
  // True, for one thread: the time is up, and the timer stands still until the next Start.
  bool TakeDue();

 private:
  const std::chrono::milliseconds period_;
  UniqueFd timer_;
  // Clock's ticks; 0: the timer stands still. Start sets it, TakeDue clears it. Relaxed: a thread that posts reads it
  // after its queue pair's lock, and the thread that has cleared it takes that lock next. So either the post is seen
  // there, or the poster sees that the timer stands still.
  std::atomic<Clock::rep> due_ = 0;
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_LOOK_TIMER_H_
