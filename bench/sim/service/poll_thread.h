// A thread as RaaS has its Worker, Poller and refill thread (V-D): it runs while there is work, polls for some time
// more, then blocks until it is woken. Everything in this folder that computes is one: skeind's threads, applications'.
//
//             Notice                       nothing to do
//   polling ----------> running: rounds --------------> polling --- `spin` is over ---> blocked
//      ^                                                                                  |
//      +---------------------- Notice: a wake-up later, running <------------------------+
#ifndef SKEIN_BENCH_SIM_SERVICE_POLL_THREAD_H_
#define SKEIN_BENCH_SIM_SERVICE_POLL_THREAD_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "core/fabric/sim/event_queue.h"
#include "core/fabric/sim/random.h"

namespace skein::bench {

class PollThread {
 public:
  // A round does the thread's work, and says how long that takes. The work has its effect by events of its own, at
  // their place in that time. Zero: there is none.
  using Round = absl::AnyInvocable<absl::Duration()>;

  struct Habits {
    absl::Duration spin;     // without work, before it blocks; infinite: it never does
    absl::Duration wake_up;  // from the notice to the first instruction of a blocked one
    absl::Duration look;     // at everything there may be, without finding anything: polling takes that long a round
  };

  PollThread(fabric::sim::EventQueue& events, fabric::sim::Random& random, const Habits& habits, Round round)
      : events_(events), random_(random), habits_(habits), round_(std::move(round)), idle_since_(events.now()) {}
  PollThread(const PollThread&) = delete;
  PollThread& operator=(const PollThread&) = delete;

  bool blocked() const { return !running_ && events_.now() - idle_since_ > habits_.spin; }

  // There may be something to do. True: the thread was blocked, and whoever gives notice has to wake it.
  bool Notice() {
    if (running_) return false;
    const bool blocked = this->blocked();
    polled_ += Polled();
    running_ = true;
    if (blocked) {
      ++wake_ups_;
      busy_ += habits_.wake_up;
    }
    // It is anywhere in its round of looks.
    events_.After(blocked ? habits_.wake_up : random_.Below(habits_.look), [this] { Run(); });
    return blocked;
  }

  // Of its work from now on.
  void StartMeasuring() {
    busy_ = polled_ = absl::ZeroDuration();
    wake_ups_ = 0;
    measured_since_ = events_.now();
  }
  absl::Duration busy() const { return busy_; }  // wake-ups included
  absl::Duration on_processor() const { return busy_ + polled_ + (running_ ? absl::ZeroDuration() : Polled()); }
  uint64_t wake_ups() const { return wake_ups_; }

 private:
  // Since it became idle, or since measuring began.
  absl::Duration Polled() const {
    const absl::Time from = std::max(idle_since_, measured_since_);
    return std::max(std::min(events_.now(), idle_since_ + habits_.spin) - from, absl::ZeroDuration());
  }
  void Run() {
    const absl::Duration worked = round_();
    if (worked > absl::ZeroDuration()) {
      busy_ += worked;
      events_.After(worked, [this] { Run(); });
      return;
    }
    running_ = false;
    idle_since_ = events_.now();
  }

  fabric::sim::EventQueue& events_;
  fabric::sim::Random& random_;
  const Habits habits_;
  Round round_;
  bool running_ = false;
  absl::Time idle_since_;
  absl::Time measured_since_ = absl::InfinitePast();
  absl::Duration busy_;
  absl::Duration polled_;
  uint64_t wake_ups_ = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVICE_POLL_THREAD_H_
