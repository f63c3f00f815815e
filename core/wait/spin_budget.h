// Whether it pays to spin before sleeping: pure, so that a table of cases can test it.
#ifndef SKEIN_CORE_WAIT_SPIN_BUDGET_H_
#define SKEIN_CORE_WAIT_SPIN_BUDGET_H_

#include <skein/options.h>

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace skein::wait {

struct SpinPolicy {
  WaitMode mode = WaitMode::kHybrid;
  absl::Duration spin_time = absl::Microseconds(50);  // at most, of one wait
};

// Of one waiter after the other, or of many alike. Any thread: its numbers are hints, and may miss a wait or two.
class SpinBudget {
 public:
  explicit SpinBudget(const SpinPolicy& policy);

  // How long a wait that begins now is to spin, by what became of the waits before; InfiniteDuration: until it is over.
  // Whether there is a processor for that, BeginSpin (spin.h) says.
  absl::Duration Begin();
  // What became of a wait that was to spin, longer than not at all.
  void Ended(bool came_while_spinning);

 private:
  // The share of hits in 256ths, of about the last sixteen: each counts for a sixteenth.
  static constexpr int kAll = 256;
  static constexpr int kWeight = 16;
  static constexpr int kPays = kAll / 4;
  // Of the waits that would not pay, one in so many spins all the same, to find out whether it would by now.
  static constexpr uint32_t kProbe = 32;

  const SpinPolicy policy_;
  std::atomic<int> hits_ = kAll;  // relaxed, as is the other
  std::atomic<uint32_t> skipped_ = 0;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_SPIN_BUDGET_H_
