// READs: no server core is involved.
#include <memory>
#include <vector>

#include "bench/sim/cluster.h"
#include "bench/sim/measure.h"
#include "bench/sim/memory_port.h"
#include "bench/sim/scenario.h"

namespace skein::bench {
namespace {

// A host's queue pairs, each with one READ after the other.
class Reader final : public Port {
 public:
  Reader(Cluster& cluster, Host& host, Host& server, Port& memory)
      : cluster_(cluster), host_(host), server_(server), memory_(memory) {}

  void Start(uint64_t queue_pair) {
    cluster_.events.After(cluster_.Application() + cluster_.costs.cpu.doorbell, [this, queue_pair] {
      auto message = std::make_unique<Message>();
      message->queue_pair = queue_pair;
      message->host = &host_;
      message->port = this;
      message->requests.push_back({.submitted = cluster_.now()});
      cluster_.Carry(host_, server_, memory_, std::move(message), 0, /*acknowledged=*/false);
    });
  }
  void OnMessage(std::unique_ptr<Message> message) override {
    const absl::Time completed = host_.nic.Complete(cluster_.now()) + cluster_.costs.cpu.dma_line;
    cluster_.events.At(completed, [this, message = std::move(message)] {
      cluster_.CountResponse(message->requests.front().submitted);
      Start(message->queue_pair);
    });
  }

 private:
  Cluster& cluster_;
  Host& host_;
  Host& server_;
  Port& memory_;
};

}  // namespace

absl::StatusOr<Outcome> RunReads(const Scenario& scenario, size_t queue_pairs, const Costs& costs) {
  Cluster cluster(scenario, costs);
  Host server(costs.nic);
  MemoryPort memory(cluster, server, /*bytes=*/16);
  std::vector<std::unique_ptr<Host>> hosts;
  std::vector<std::unique_ptr<Reader>> readers;
  for (size_t i = 0; i < scenario.hosts; ++i) {
    hosts.push_back(std::make_unique<Host>(costs.nic));
    readers.push_back(std::make_unique<Reader>(cluster, *hosts.back(), server, memory));
  }
  for (uint64_t i = 0; i < queue_pairs; ++i) readers[i % readers.size()]->Start(i);
  absl::StatusOr<Outcome> outcome = Measure(cluster, server);
  if (outcome.ok()) outcome->active_queue_pairs = static_cast<double>(queue_pairs);
  return outcome;
}

}  // namespace skein::bench
