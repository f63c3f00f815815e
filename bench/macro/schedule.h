#ifndef SKEIN_BENCH_MACRO_SCHEDULE_H_
#define SKEIN_BENCH_MACRO_SCHEDULE_H_

#include <optional>

#include "absl/time/time.h"
#include "bench/macro/load.h"

namespace skein::bench {

// When the calls of a load are made, or those of one of the threads that share it.
class Schedule {
 public:
  // Of thread `number` of `threads`, whose calls are due by turns.
  Schedule(const Load& load, absl::Time start, int threads = 1, int number = 0);

  // Waits until the next call is due. Since when it waits: in an open loop since it was due, however late it is made,
  // by its predecessor's fault or this thread's; in a closed loop since now. Nothing: the load's time is over, and a
  // closed loop has made a call, however late its thread began.
  std::optional<absl::Time> Next();

 private:
  const absl::Duration interval_;  // zero: closed loop
  const absl::Time end_;
  absl::Time due_;
  bool has_begun_ = false;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_SCHEDULE_H_
