// A receiver that crashes and comes back (SC'21, 5.4): how long its sender waits, with a log and without.
#ifndef SKEIN_BENCH_DURABLE_RECOVERY_H_
#define SKEIN_BENCH_DURABLE_RECOVERY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "bench/durable/scenario.h"

namespace skein::bench::durable {

// Means of the crashes.
struct RecoveryOutcome {
  double waits_ms = 0;     // from the crash until all that the sender had asked for is over
  double sent_again = 0;   // requests that were not in the log; all that were open, where there is none
  double from_log = 0;     // requests without an answer that were in the log
  double kept = 0;         // the part of crashes of which the sender heard nothing but a pause
  uint64_t forgotten = 0;  // writes that were known to be safe, and then were not there
};

// One sender; `crashes` runs of their own, each cut at a random moment. `pmem` keeps what has landed there, everything
// else is gone. The receiver is back after Costs::restart. If its log has all that the sender waits for, it goes on
// with that, and calls the sender, whom its log names. Else the sender sends again what is not there, at the first
// multiple of Costs::retransmission after it did so first.
absl::StatusOr<RecoveryOutcome> RunRecovery(const Scenario& scenario, const Costs& costs, uint64_t crashes);

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_RECOVERY_H_
