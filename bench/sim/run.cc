#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "bench/sim/client.h"
#include "bench/sim/cluster.h"
#include "bench/sim/measure.h"
#include "bench/sim/scenario.h"
#include "bench/sim/server.h"

namespace skein::bench {
namespace {

// As many queue pairs as a process may want.
size_t PoolOf(const Scenario& scenario) {
  if (scenario.pool > 0) return scenario.pool;
  const size_t group = std::max<size_t>(scenario.threads_per_queue_pair, 1);
  return (scenario.threads + group - 1) / group;
}

// Its threads keep requests outstanding.
class ClosedLoop final : public Source {
 public:
  explicit ClosedLoop(Cluster& cluster) : cluster_(cluster), outstanding_(cluster.scenario.threads, 0) {}

  std::optional<Request> Next(size_t thread) override {
    const Scenario& scenario = cluster_.scenario;
    if (outstanding_[thread] == scenario.outstanding) return std::nullopt;
    ++outstanding_[thread];
    return Request{.thread = thread, .bytes = scenario.RequestBytes(thread), .answer_bytes = scenario.bytes};
  }
  void OnResponse(const Request& response) override {
    --outstanding_[response.thread];
    cluster_.CountResponse(response.submitted);
  }

 private:
  Cluster& cluster_;
  std::vector<size_t> outstanding_;  // of each thread
};

}  // namespace

absl::StatusOr<Outcome> Run(const Scenario& scenario, const Costs& costs) {
  Cluster cluster(scenario, costs);
  Server server(cluster, schedule::kMaxActiveQueuePairs);
  std::vector<std::unique_ptr<Host>> hosts;
  std::deque<ClosedLoop> loops;
  std::vector<std::unique_ptr<Client>> clients;
  const size_t pool = PoolOf(scenario);
  for (size_t i = 0; i < scenario.hosts; ++i) hosts.push_back(std::make_unique<Host>(costs.nic));
  for (size_t i = 0; i < scenario.hosts * scenario.processes_per_host; ++i) {
    Host& host = *hosts[i % hosts.size()];
    ClosedLoop& loop = loops.emplace_back(cluster);
    clients.push_back(std::make_unique<Client>(cluster, loop, host, server, i * pool, pool, server.Add(host, pool)));
  }
  server.Start(clients);
  for (const auto& client : clients) client->Start();
  absl::StatusOr<Outcome> outcome = Measure(cluster, server.host());
  if (outcome.ok()) outcome->active_queue_pairs = static_cast<double>(server.active_queue_pairs());
  return outcome;
}

}  // namespace skein::bench
