#include "bench/sim/measure.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

namespace skein::bench {
namespace {

double Ratio(uint64_t a, uint64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

void RunFor(Cluster& cluster, absl::Duration duration) {
  const absl::Time end = cluster.now() + duration;
  while (cluster.events.next_time() <= end && cluster.status.ok()) cluster.events.PopNext().action();
  cluster.events.AdvanceTo(end);
}

double Quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

absl::StatusOr<Outcome> Measure(Cluster& cluster, const Host& server) {
  const Scenario& scenario = cluster.scenario;
  RunFor(cluster, scenario.warm_up);
  cluster.StartMeasuring();
  const uint64_t messages = server.nic.messages();
  const uint64_t misses = server.nic.cache_misses();
  RunFor(cluster, scenario.measured);
  if (!cluster.status.ok()) return cluster.status;
  Outcome outcome;
  const double seconds = absl::ToDoubleSeconds(scenario.measured);
  outcome.requests_per_second = static_cast<double>(cluster.latencies_us.size()) / seconds;
  outcome.requests_per_message = Ratio(cluster.requests_received, cluster.messages_received);
  outcome.requests_per_response = Ratio(cluster.responses_sent, cluster.messages_sent);
  outcome.p50_us = Quantile(cluster.latencies_us, 0.5);
  outcome.p99_us = Quantile(cluster.latencies_us, 0.99);
  outcome.nic_misses = Ratio(server.nic.cache_misses() - misses, server.nic.messages() - messages);
  const auto cores = static_cast<double>(cluster.costs.server_cores);
  outcome.server_busy = absl::ToDoubleSeconds(cluster.server_work) / (cores * seconds);
  return outcome;
}

std::string Members(const Outcome& outcome) {
  return absl::StrFormat(
      R"("mrps": %.4f, "requests_per_message": %.4f, "requests_per_response": %.4f, "p50_us": %.3f, "p99_us": %.3f, )"
      R"("active_queue_pairs": %.0f, "nic_misses": %.4f, "server_busy": %.4f)",
      outcome.requests_per_second / 1e6, outcome.requests_per_message, outcome.requests_per_response, outcome.p50_us,
      outcome.p99_us, outcome.active_queue_pairs, outcome.nic_misses, outcome.server_busy);
}

}  // namespace skein::bench
