// A full mesh of processes, by one host in full detail that stands for all.
//
// All hosts are alike, and each calls as often as it is called. So the host that a message of this one reaches is in
// the state that this one is in, seen from outside: the message is received by this host's own NIC, on the queue pair
// that the receiver would have, and handled by its own skeind and the process of the receiver's number. The mirror
// assumes nothing about rates or delays; it loses that two hosts are busy at different moments. A small mesh is
// run both ways, and the difference is among the results.
//
//   process p calls process s of host r  ->  arrives at process s, from process p of host r
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "bench/sim/measure.h"
#include "bench/sim/service/service_run.h"

namespace skein::bench {
namespace {

struct MeshMessage {
  bool answer = false;
  size_t host = 0;  // of the sender, as the receiver sees it
  size_t process = 0;
  absl::Time asked;
};

class MeshProcess;

struct MeshHost {
  MeshHost(Cluster& cluster, size_t of) : number(of), nic(cluster.events, cluster.costs) {}
  const size_t number;
  HostNic nic;
  std::unique_ptr<Skeind> skeind;
  std::vector<std::unique_ptr<MeshProcess>> processes;
};

struct Mesh {
  Cluster cluster;
  const MeshRun& run;
  std::vector<std::unique_ptr<MeshHost>> hosts;

  MeshHost& Host(size_t number) { return run.mirror ? *hosts.front() : *hosts[number]; }
};

class MeshProcess {
 public:
  MeshProcess(Mesh& mesh, MeshHost& host, size_t number)
      : mesh_(mesh),
        host_(host),
        number_(number),
        due_(mesh.run.callers),
        thread_(
            mesh.cluster.events, mesh.cluster.random,
            {mesh.cluster.costs.service.spin, mesh.cluster.costs.service.wake_up, mesh.cluster.costs.cpu.empty_poll},
            [this] { return Round(); }) {}

  PollThread& thread() { return thread_; }

 private:
  // One thing at a time.
  absl::Duration Round() {
    if (!inbox_.empty()) return Handle();
    return due_ > 0 ? Call() : absl::ZeroDuration();
  }
  absl::Duration Handle() {
    const MeshMessage message = inbox_.front();
    inbox_.pop_front();
    const CpuCosts& cpu = mesh_.cluster.costs.cpu;
    // The message, and what says that it is there: the NIC's entry, or skeind's, which its core has written.
    absl::Duration cost = cpu.dma_line + cpu.header + cpu.item;
    if (mesh_.run.immediates) cost += mesh_.run.access == Access::kOwn ? cpu.dma_line : 2 * cpu.shared_line;
    if (!message.answer) {
      cost += cpu.handler + cpu.item;
      return cost + Send({true, 0, 0, message.asked}, message.host, message.process, cost);
    }
    mesh_.cluster.events.After(cost, [this, asked = message.asked] { mesh_.cluster.CountResponse(asked); });
    mesh_.cluster.events.After(cost + mesh_.cluster.random.Exponential(mesh_.run.pause), [this] {
      ++due_;
      thread_.Notice();
    });
    return cost;
  }
  absl::Duration Call() {
    --due_;
    const absl::Duration begun = mesh_.cluster.Application();
    const size_t other = 1 + mesh_.cluster.random.Below(mesh_.run.hosts - 1);
    const size_t process = mesh_.cluster.random.Below(mesh_.run.processes);
    const size_t host = (host_.number + other) % mesh_.run.hosts;
    return begun + Send({false, 0, 0, mesh_.cluster.now() + begun}, host, process, begun);
  }
  // Returns its cost from `begun` on.
  absl::Duration Send(MeshMessage message, size_t host, size_t process, absl::Duration begun) {
    const CpuCosts& cpu = mesh_.cluster.costs.cpu;
    const bool service = mesh_.run.access == Access::kService;
    MeshHost& to = mesh_.Host(host);
    message.host = mesh_.run.mirror ? host : host_.number;
    message.process = number_;
    HostNic::Request wire;
    wire.bytes = mesh_.run.bytes;
    wire.peer = &to.nic;
    wire.peer_queue_pair =
        service ? TrunkTo(message.host, process, number_) : QueuePair(process, message.host, number_);
    News news{&to.processes[process]->thread(),
              [&receiver = *to.processes[process], message] { receiver.inbox_.push_back(message); }};
    wire.arrived = [this, &to, trunk = wire.peer_queue_pair, news = std::move(news)]() mutable {
      if (to.skeind != nullptr && mesh_.run.immediates) return to.skeind->Arrived(trunk, std::move(news));
      news.what();
      news.process->Notice();
    };
    absl::Duration cost = cpu.item + (service ? HandOver(cpu) : cpu.header + cpu.doorbell);
    const uint64_t own = QueuePair(number_, host, process);
    if (service) {
      const size_t trunk = TrunkTo(host, number_, process);
      return cost + host_.skeind->Submit(own, {trunk, std::move(wire), {}}, begun + cost);
    }
    mesh_.cluster.events.After(begun + cost,
                               [this, own, wire = std::move(wire)]() mutable { host_.nic.Post(own, std::move(wire)); });
    return cost;
  }

  // Of process `own` with process `other` of that host.
  uint64_t QueuePair(size_t own, size_t host, size_t other) const {
    return (own * mesh_.run.hosts + host) * mesh_.run.processes + other;
  }
  // Between two hosts there is one for each of the two that may have connected: the process with the lower number has.
  static size_t TrunkTo(size_t host, size_t own, size_t other) { return 2 * host + (own <= other ? 0 : 1); }

  Mesh& mesh_;
  MeshHost& host_;
  const size_t number_;
  size_t due_;
  std::deque<MeshMessage> inbox_;
  PollThread thread_;
};

template <typename What>
void ForEachProcess(Mesh& mesh, What what) {
  for (const auto& host : mesh.hosts) {
    for (const auto& process : host->processes) what(process->thread());
  }
}

ServiceOutcome OutcomeOf(Mesh& mesh) {
  const MeshRun& run = mesh.run;
  const auto hosts = static_cast<double>(mesh.hosts.size());
  std::vector<double>& latencies = mesh.cluster.latencies_us;
  ServiceOutcome outcome;
  outcome.operations_per_second = static_cast<double>(latencies.size()) / absl::ToDoubleSeconds(run.measured) / hosts;
  outcome.p50_us = Quantile(latencies, 0.5);
  outcome.p99_us = Quantile(latencies, 0.99);
  const size_t others = run.hosts - 1;
  outcome.queue_pairs =
      static_cast<double>(run.access == Access::kService ? 2 * others : run.processes * others * run.processes);
  ForEachProcess(mesh, [&](const PollThread& thread) {
    outcome.processors += absl::FDivDuration(thread.on_processor(), run.measured) / hosts;
    outcome.busy += absl::FDivDuration(thread.busy(), run.measured) / hosts;
  });
  for (const auto& host : mesh.hosts) {
    if (host->skeind == nullptr) continue;
    outcome.skeind += absl::FDivDuration(host->skeind->on_processor(), run.measured) / hosts;
    outcome.skeind_busy += absl::FDivDuration(host->skeind->busy(), run.measured) / hosts;
  }
  outcome.processors += outcome.skeind;
  outcome.busy += outcome.skeind_busy;
  return outcome;
}

}  // namespace

ServiceOutcome Run(const MeshRun& run, const Costs& costs) {
  Mesh mesh{Cluster(TimesOf(run), costs), run, {}};
  for (size_t i = 0; i < (run.mirror ? 1 : run.hosts); ++i) {
    MeshHost& host = *mesh.hosts.emplace_back(std::make_unique<MeshHost>(mesh.cluster, i));
    if (run.access == Access::kService) {
      host.skeind = std::make_unique<Skeind>(mesh.cluster, host.nic, run.processes, 2 * run.hosts, run.skeind);
    }
    for (size_t p = 0; p < run.processes; ++p) {
      host.processes.push_back(std::make_unique<MeshProcess>(mesh, host, p));
    }
  }
  ForEachProcess(mesh, [&](PollThread& thread) {
    mesh.cluster.events.After(mesh.cluster.random.Below(run.pause + run.warm_up / 4), [&thread] { thread.Notice(); });
  });
  RunFor(mesh.cluster, run.warm_up);
  mesh.cluster.StartMeasuring();
  ForEachProcess(mesh, [](PollThread& thread) { thread.StartMeasuring(); });
  for (const auto& host : mesh.hosts) {
    if (host->skeind != nullptr) host->skeind->StartMeasuring();
  }
  const HostNic& nic = mesh.hosts.front()->nic;
  const uint64_t messages = nic.messages();
  const uint64_t misses = nic.cache_misses();
  RunFor(mesh.cluster, run.measured);
  ServiceOutcome outcome = OutcomeOf(mesh);
  outcome.nic_misses =
      static_cast<double>(nic.cache_misses() - misses) / static_cast<double>(nic.messages() - messages);
  return outcome;
}

}  // namespace skein::bench
