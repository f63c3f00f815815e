#include "bench/sim/ud/run.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/sim/cluster.h"
#include "bench/sim/measure.h"
#include "bench/sim/ud/client.h"
#include "bench/sim/ud/server.h"

namespace skein::bench {
namespace {

// A datagram is one packet.
size_t LargestOf(const Costs& costs) { return costs.nic.packet_bytes - costs.ud.header_bytes; }

}  // namespace

Costs OfUd(Costs costs) {
  costs.nic.packet_header_bytes = costs.ud.packet_overhead;
  return costs;
}

absl::StatusOr<Outcome> RunUd(const Scenario& scenario, const Costs& costs) {
  Cluster cluster(scenario, OfUd(costs));
  UdServer server(cluster);
  std::vector<std::unique_ptr<Host>> hosts;
  for (size_t i = 0; i < scenario.hosts; ++i) hosts.push_back(std::make_unique<Host>(cluster.costs.nic));
  std::vector<std::unique_ptr<UdClient>> clients;
  const size_t threads = scenario.processes_per_host * scenario.threads;
  for (size_t i = 0; i < threads * scenario.hosts; ++i) {
    Host& host = *hosts[i % hosts.size()];
    const size_t number = i / hosts.size();  // of the host's threads
    const Exchange exchange = {.request_bytes = scenario.RequestBytes(number % scenario.threads),
                               .response_bytes = scenario.bytes,
                               .largest = LargestOf(cluster.costs)};
    clients.push_back(std::make_unique<UdClient>(cluster, host, number, server, exchange));
  }
  for (const auto& client : clients) client->Start();
  absl::StatusOr<Outcome> outcome = Measure(cluster, server.host());
  if (outcome.ok()) outcome->active_queue_pairs = static_cast<double>(cluster.costs.server_cores);
  return outcome;
}

}  // namespace skein::bench
