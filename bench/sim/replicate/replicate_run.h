// One write to many (core/replicate) on a model of NICs: each member's part is Progress, as Skein has it; a block is a
// message from NIC to NIC, and costs the threads of both ends something.
#ifndef SKEIN_BENCH_SIM_REPLICATE_REPLICATE_RUN_H_
#define SKEIN_BENCH_SIM_REPLICATE_REPLICATE_RUN_H_

#include <cstdint>

#include "absl/time/time.h"
#include "bench/sim/costs.h"
#include "core/replicate/group.h"
#include "core/replicate/schedule.h"

namespace skein::bench {

struct ReplicateRun {
  replicate::ScheduleKind schedule = replicate::ScheduleKind::kBinomialPipeline;
  uint32_t receivers = 1;
  uint64_t bytes = 100'000'000;
  uint32_t block_bytes = replicate::GroupOptions().block_bytes;
  uint32_t max_sends = replicate::GroupOptions().max_sends;
  // What a member's thread copies of each block that it sends, and of each that it receives. A path on a stream of
  // Skein's copies both; one-sided WRITEs from and to the memory of the write would copy neither.
  bool copies = false;
  bool sleeps = false;  // a thread that has nothing to do has to be woken
  uint32_t slow = 0;    // a receiver whose NIC's wire has half the rate; 0: none
};

struct ReplicateOutcome {
  absl::Duration all = absl::ZeroDuration();    // until the last receiver has all of it
  absl::Duration first = absl::ZeroDuration();  // until the first one has
  uint32_t steps = 0;
  uint64_t blocks_received = 0;
};

ReplicateOutcome RunWrite(const ReplicateRun& run, const Costs& costs);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_REPLICATE_REPLICATE_RUN_H_
