#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/sim/client.h"
#include "bench/sim/measure.h"
#include "bench/sim/memory_port.h"
#include "bench/sim/server.h"
#include "bench/sim/transactions/coroutines.h"
#include "bench/sim/transactions/run.h"

namespace skein::bench {
namespace {

struct Served {
  Served(Cluster& cluster, uint32_t max_active)
      : server(cluster, max_active), memory(cluster, server.host(), /*bytes=*/8) {}
  Server server;
  MemoryPort memory;
  std::vector<std::unique_ptr<Client>> clients;  // by host
};

// A host's threads. Each makes one request at a time, whichever server it is for.
class FlockHost final : public Port {
 public:
  FlockHost(Cluster& cluster, Host& host, std::deque<Served>& servers, Mix mix, const Protocol& protocol)
      : cluster_(cluster), host_(host), servers_(servers) {
    for (size_t i = 0; i < servers.size(); ++i) sources_.emplace_back(*this, i);
    for (size_t i = 0; i < cluster.scenario.threads; ++i) {
      threads_.push_back(std::make_unique<Thread>(
          cluster, mix, protocol, [this, i](size_t coroutine, const Ask& ask) { Send(i, coroutine, ask); }));
    }
  }

  void Connect(size_t server, size_t number) {
    Served& to = servers_[server];
    const size_t queue_pairs = cluster_.scenario.threads;
    to.clients.push_back(std::make_unique<Client>(cluster_, sources_[server], host_, to.server, number * queue_pairs,
                                                  queue_pairs, to.server.Add(host_, queue_pairs)));
    clients_.push_back(to.clients.back().get());
  }
  void Start() {
    for (Client* const client : clients_) client->Start();
    for (const auto& thread : threads_) thread->coroutines.Start();
  }
  // The answer to a READ.
  void OnMessage(std::unique_ptr<Message> message) override {
    const absl::Time completed = host_.nic.Complete(cluster_.now()) + cluster_.costs.cpu.dma_line;
    cluster_.events.At(completed, [this, request = message->requests.front()] { OnAnswer(request); });
  }

 private:
  struct Pending {
    size_t coroutine = 0;
    Ask ask;
  };
  struct Thread {
    Thread(Cluster& cluster, Mix mix, const Protocol& protocol, Coroutines::Send send)
        : coroutines(cluster, mix, protocol, std::move(send)) {}
    Coroutines coroutines;
    std::deque<Pending> pending;
    bool busy = false;
  };
  // What the process's part that talks to one server is asked by.
  class OneServer final : public Source {
   public:
    OneServer(FlockHost& host, size_t server) : host_(host), server_(server) {}
    std::optional<Request> Next(size_t thread) override { return host_.Next(thread, server_); }
    void OnFree(size_t thread) override { host_.OnFree(thread); }
    void OnResponse(const Request& response) override { host_.OnAnswer(response); }

   private:
    FlockHost& host_;
    const size_t server_;
  };

  void Send(size_t thread, size_t coroutine, const Ask& ask) {
    threads_[thread]->pending.push_back({coroutine, ask});
    Work(thread);
  }
  void Work(size_t number) {
    Thread& thread = *threads_[number];
    if (thread.busy || thread.pending.empty()) return;
    if (thread.pending.front().ask.one_sided) return Read(number);
    clients_[thread.pending.front().ask.server]->Work(number);
  }
  std::optional<Request> Next(size_t number, size_t server) {
    Thread& thread = *threads_[number];
    if (thread.busy || thread.pending.empty()) return std::nullopt;
    const Pending next = thread.pending.front();
    if (next.ask.one_sided || next.ask.server != server) return std::nullopt;
    thread.busy = true;
    thread.pending.pop_front();
    return Request{.thread = number,
                   .bytes = next.ask.bytes,
                   .answer_bytes = next.ask.answer_bytes,
                   .work = next.ask.work,
                   .coroutine = next.coroutine};
  }
  void OnFree(size_t thread) {
    threads_[thread]->busy = false;
    Work(thread);
  }
  // By the queue pair that the thread uses, with a doorbell of its own.
  void Read(size_t number) {
    Thread& thread = *threads_[number];
    thread.busy = true;
    const Pending next = thread.pending.front();
    thread.pending.pop_front();
    const CpuCosts& cpu = cluster_.costs.cpu;
    cluster_.events.After(cluster_.Application() + cpu.item + cpu.doorbell, [this, number, next] {
      auto message = std::make_unique<Message>();
      message->queue_pair = clients_[next.ask.server]->QueuePairOf(number);
      message->host = &host_;
      message->port = this;
      message->requests.push_back({.thread = number, .coroutine = next.coroutine});
      Served& to = servers_[next.ask.server];
      cluster_.Carry(host_, to.server.host(), to.memory, std::move(message), 0, /*acknowledged=*/false);
      OnFree(number);
    });
  }
  void OnAnswer(const Request& request) {
    threads_[request.thread]->coroutines.OnAnswer(request.coroutine, cluster_.now());
  }

  Cluster& cluster_;
  Host& host_;
  std::deque<Served>& servers_;
  std::deque<OneServer> sources_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Client*> clients_;  // by server
};

}  // namespace

absl::StatusOr<Outcome> RunFlockTransactions(const Scenario& scenario, const Costs& calibrated, Mix mix,
                                             const Protocol& protocol) {
  Costs costs = calibrated;
  costs.server_cores = scenario.threads;
  Cluster cluster(scenario, costs);
  std::deque<Served> servers;
  for (size_t i = 0; i < kTransactionServers; ++i) servers.emplace_back(cluster, schedule::kMaxActiveQueuePairs);
  std::deque<Host> hosts;
  std::deque<FlockHost> clients;
  for (size_t i = 0; i < scenario.hosts; ++i) {
    FlockHost& client = clients.emplace_back(cluster, hosts.emplace_back(costs.nic), servers, mix, protocol);
    for (size_t server = 0; server < servers.size(); ++server) client.Connect(server, i);
  }
  for (Served& one : servers) one.server.Start(one.clients);
  for (FlockHost& client : clients) client.Start();
  absl::StatusOr<Outcome> outcome = Measure(cluster, servers.front().server.host());
  if (!outcome.ok()) return outcome;
  outcome->server_busy /= static_cast<double>(servers.size());
  outcome->active_queue_pairs = static_cast<double>(servers.front().server.active_queue_pairs());
  return outcome;
}

}  // namespace skein::bench
