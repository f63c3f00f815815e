#include <deque>
#include <memory>
#include <vector>

#include "bench/sim/measure.h"
#include "bench/sim/transactions/coroutines.h"
#include "bench/sim/transactions/run.h"
#include "bench/sim/ud/endpoint.h"
#include "bench/sim/ud/run.h"

namespace skein::bench {
namespace {

// A server's thread: executes, and answers.
class UdCore final : private UdEndpoint::Owner {
 public:
  UdCore(Cluster& cluster, Host& host, uint64_t queue_pair)
      : cluster_(cluster), endpoint_(cluster, *this, host, queue_pair) {}

  UdQueuePair& queue_pair() { return endpoint_.queue_pair(); }

 private:
  void OnDatagram(const Datagram& datagram) override {
    endpoint_.Spend(cluster_.costs.cpu.item + cluster_.Handler() + datagram.work + cluster_.Copy(datagram.bytes));
    cluster_.CountReceived(1);
    Datagram answer = datagram;
    answer.bytes = datagram.answer_bytes;
    endpoint_.Send(*datagram.from, answer);
  }
  void OnDoorbell(size_t datagrams) override { cluster_.CountSent(datagrams); }
  void OnRound(absl::Duration work) override { cluster_.CountWork(work); }

  Cluster& cluster_;
  UdEndpoint endpoint_;
};

// A client's thread. Requests that it makes in a round share its doorbells.
class UdThread final : private UdEndpoint::Owner {
 public:
  UdThread(Cluster& cluster, Host& host, uint64_t number, const std::vector<UdQueuePair*>& servers, Mix mix,
           const Protocol& protocol)
      : cluster_(cluster),
        servers_(servers),
        endpoint_(cluster, *this, host, number),
        coroutines_(cluster, mix, protocol, [this](size_t coroutine, const Ask& ask) { Send(coroutine, ask); }) {}

  void Start() { endpoint_.Notice(); }

 private:
  void OnDatagram(const Datagram& answer) override {
    endpoint_.Spend(cluster_.costs.cpu.item);
    coroutines_.OnAnswer(answer.slot, endpoint_.time());
  }
  void OnTimers() override {
    if (!started_) coroutines_.Start();
    started_ = true;
  }
  void Send(size_t coroutine, const Ask& ask) {
    endpoint_.Spend(cluster_.Application());
    endpoint_.Send(*servers_[ask.server],
                   {.slot = coroutine, .bytes = ask.bytes, .answer_bytes = ask.answer_bytes, .work = ask.work});
  }

  Cluster& cluster_;
  const std::vector<UdQueuePair*> servers_;
  UdEndpoint endpoint_;
  Coroutines coroutines_;
  bool started_ = false;
};

}  // namespace

absl::StatusOr<Outcome> RunUdTransactions(const Scenario& scenario, const Costs& calibrated, Mix mix,
                                          const Protocol& protocol) {
  Costs costs = OfUd(calibrated);
  costs.server_cores = scenario.threads;
  Cluster cluster(scenario, costs);
  std::deque<Host> servers;
  std::vector<std::unique_ptr<UdCore>> cores;  // of a server after the other
  for (size_t i = 0; i < kTransactionServers; ++i) {
    Host& server = servers.emplace_back(costs.nic);
    for (size_t k = 0; k < scenario.threads; ++k) cores.push_back(std::make_unique<UdCore>(cluster, server, k));
  }
  std::deque<Host> hosts;
  std::vector<std::unique_ptr<UdThread>> threads;
  for (size_t i = 0; i < scenario.hosts; ++i) {
    Host& host = hosts.emplace_back(costs.nic);
    for (size_t k = 0; k < scenario.threads; ++k) {
      std::vector<UdQueuePair*> peers;
      for (size_t server = 0; server < kTransactionServers; ++server)
        peers.push_back(&cores[server * scenario.threads + k]->queue_pair());
      threads.push_back(std::make_unique<UdThread>(cluster, host, k, peers, mix, protocol));
    }
  }
  for (const auto& thread : threads) thread->Start();
  absl::StatusOr<Outcome> outcome = Measure(cluster, servers.front());
  if (!outcome.ok()) return outcome;
  outcome->server_busy /= static_cast<double>(kTransactionServers);
  outcome->active_queue_pairs = static_cast<double>(scenario.threads);
  return outcome;
}

}  // namespace skein::bench
