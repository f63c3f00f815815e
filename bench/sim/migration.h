// The way of one thread (in Skein: one direction of a stream) from queue pair to queue pair. Two of them deliver in no
// order, so a thread that is moved posts nothing until the receiver has consumed all it posted on the old one (FLOCK
// 3.4.2).
#ifndef SKEIN_BENCH_SIM_MIGRATION_H_
#define SKEIN_BENCH_SIM_MIGRATION_H_

#include <cstdint>

namespace skein::bench {

// Marks are positions of one queue pair that grow with each post: bytes of its ring, or sequence ids.
class Migration {
 public:
  explicit Migration(uint16_t queue_pair) : queue_pair_(queue_pair), target_(queue_pair) {}

  // It posts there, or has posted there until it began to drain.
  uint16_t queue_pair() const { return queue_pair_; }
  bool draining() const { return queue_pair_ != target_; }

  // Not while draining. Its posts end at `mark`.
  void OnPosted(uint64_t mark) { last_ = mark; }
  // From now on it shall post on `target`; on queue_pair() again ends the draining. `consumed`: as for OnConsumed.
  void MoveTo(uint16_t target, uint64_t consumed) {
    target_ = target;
    OnConsumed(consumed);
  }
  // The receiver has consumed what was posted on queue_pair() up to the mark `consumed`, by whomever. That it has
  // arrived is not enough: it may look at the new queue pair first. Returns whether the thread has moved just now.
  bool OnConsumed(uint64_t consumed) {
    if (!draining() || consumed < last_) return false;
    queue_pair_ = target_;
    last_ = 0;
    return true;
  }

 private:
  uint16_t queue_pair_;
  uint16_t target_;
  uint64_t last_ = 0;  // where its last post on queue_pair_ ends
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_MIGRATION_H_
