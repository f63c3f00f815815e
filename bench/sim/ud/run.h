// FLOCK's scenarios with UD for FLOCK: each thread has a queue pair of its own, and nothing is shared or coalesced.
#ifndef SKEIN_BENCH_SIM_UD_RUN_H_
#define SKEIN_BENCH_SIM_UD_RUN_H_

#include "absl/status/statusor.h"
#include "bench/sim/scenario.h"

namespace skein::bench {

// The same, with packets as UD's.
Costs OfUd(Costs costs);

// Of the scenario, hosts, processes, threads, outstanding requests and sizes count. The outcome's requests_per_message
// is 1, and active_queue_pairs are the server's.
absl::StatusOr<Outcome> RunUd(const Scenario& scenario, const Costs& costs);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_RUN_H_
