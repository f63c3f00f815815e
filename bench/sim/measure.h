// Runs what has been started, and counts after the warm-up.
#ifndef SKEIN_BENCH_SIM_MEASURE_H_
#define SKEIN_BENCH_SIM_MEASURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/sim/cluster.h"

namespace skein::bench {

void RunFor(Cluster& cluster, absl::Duration duration);
// 0 of nothing. Changes their order.
double Quantile(std::vector<double>& values, double part);

// But for active_queue_pairs. Not OK when a policy was told what cannot be.
absl::StatusOr<Outcome> Measure(Cluster& cluster, const Host& server);

// The outcome as members of a JSON object.
std::string Members(const Outcome& outcome);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_MEASURE_H_
