// The way of a process's threads onto one queue pair.
//
//   Enter -> waiting_ -> Lead: own copy -> Gather: who is there by now, as long as somebody comes -> doorbell -> Post
//
// A thread that comes after the last round of Gather waits for the next leader. A spinlock is the same without
// followers, and with no order among those who wait. A dedicated queue pair is the same with one thread.
#ifndef SKEIN_BENCH_SIM_SEND_QUEUE_H_
#define SKEIN_BENCH_SIM_SEND_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "bench/sim/cluster.h"
#include "bench/sim/degrees.h"
#include "core/schedule/credits.h"

namespace skein::bench {

class SendQueue {
 public:
  // The process, as its queues see it.
  class Owner {
   public:
    virtual ~Owner() = default;
    // These will be in the next message, number posted().
    virtual void OnTaken(SendQueue& queue, const std::vector<Request>& batch) = 0;
    virtual void OnPosted(SendQueue& queue, const std::vector<Request>& batch) = 0;
    // The thread's call has returned.
    virtual void OnFree(size_t thread) = 0;
  };

  SendQueue(Cluster& cluster, Owner& owner, uint64_t queue_pair, bool active)
      : cluster_(cluster), owner_(owner), queue_pair_(queue_pair), credits_(schedule::kDefaultCredits, active) {}

  // Thread `request.thread` sends it, and does nothing else until OnFree.
  void Enter(const Request& request);
  // The credits have changed.
  void Resume();

  uint64_t queue_pair() const { return queue_pair_; }
  schedule::Credits& credits() { return credits_; }
  Degrees& degrees() { return degrees_; }
  uint64_t posted() const { return posted_; }  // messages, the one being made included
  uint64_t consumed = 0;                       // of them, as the receiver says

 private:
  void Lead();
  absl::Duration TakeOver(size_t thread);
  void Gather();
  void Post();
  bool Scheduled() const;
  absl::Duration HandOver() const;

  Cluster& cluster_;
  Owner& owner_;
  const uint64_t queue_pair_;
  schedule::Credits credits_;
  Degrees degrees_;
  std::deque<Request> waiting_;
  std::vector<Request> batch_;
  size_t freed_ = 0;  // of it
  size_t last_leader_ = SIZE_MAX;
  bool led_ = false;
  bool starved_ = false;  // led, and waiting for credits
  uint64_t posted_ = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SEND_QUEUE_H_
