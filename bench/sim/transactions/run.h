// FlockTX and its like on the model: 20 hosts whose threads each have coroutines, and 3 servers (thesis, 4.5.2).
#ifndef SKEIN_BENCH_SIM_TRANSACTIONS_RUN_H_
#define SKEIN_BENCH_SIM_TRANSACTIONS_RUN_H_

#include "absl/status/statusor.h"
#include "bench/sim/scenario.h"
#include "bench/sim/transactions/shapes.h"

namespace skein::bench {

// Of the scenario, hosts and threads count, and what FLOCK's queue pairs do; `outstanding` coroutines of a thread each
// run one transaction after the other. Each server has as many cores as a host has threads. In the outcome requests are
// transactions, but for those of messages and responses; misses are those of one server.
absl::StatusOr<Outcome> RunFlockTransactions(const Scenario& scenario, const Costs& costs, Mix mix,
                                             const Protocol& protocol);
// Over UD, as FaSST does: a thread has a queue pair, and talks to its own thread of each server; one request, one
// datagram; neither acknowledgement nor congestion control.
absl::StatusOr<Outcome> RunUdTransactions(const Scenario& scenario, const Costs& costs, Mix mix,
                                          const Protocol& protocol);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_TRANSACTIONS_RUN_H_
