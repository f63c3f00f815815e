// READs of one host's threads. The hosts that are read from are NICs alone.
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "bench/sim/measure.h"
#include "bench/sim/service/service_run.h"
#include "bench/sim/service/spin_lock.h"

namespace skein::bench {
namespace {

// The reading host's threads and NIC.
struct ReadingHost {
  ReadingHost(const ReadRun& what, const Costs& costs) : cluster(TimesOf(what), costs), run(what) {}
  Cluster cluster;
  const ReadRun& run;
  HostNic nic{cluster.events, cluster.costs};
  std::vector<std::unique_ptr<HostNic>> others;
  std::unique_ptr<Skeind> skeind;
  // Of each shared queue pair: its driver locks what is sent, and its completion queue.
  std::vector<SpinLock> sends;
  std::vector<SpinLock> completions;
  std::vector<size_t> looking;  // threads that look at that queue for an answer, again and again
};

// A thread with a connection of its own.
class Reader {
 public:
  Reader(ReadingHost& host, size_t number)
      : host_(host),
        number_(number),
        due_(host.run.outstanding),
        thread_(host.cluster.events, host.cluster.random,
                {host.run.spin, host.cluster.costs.service.wake_up, host.cluster.costs.cpu.empty_poll},
                [this] { return Round(); }) {}

  PollThread& thread() { return thread_; }

 private:
  // One thing at a time: an answer, or the next READ.
  absl::Duration Round() {
    Look(false);
    if (!answered_.empty()) return Take();
    if (due_ > 0) return Ask();
    Look(true);
    return absl::ZeroDuration();
  }
  void Look(bool looks) {
    if (host_.run.access != Access::kLocked || std::exchange(looks_, looks) == looks) return;
    host_.looking[Shared()] += looks ? 1 : -1;
  }
  absl::Duration Take() {
    const absl::Time asked = answered_.front();
    answered_.pop_front();
    const absl::Duration cost = PriceOfAnswer();
    host_.cluster.events.After(cost, [this, asked] { host_.cluster.CountResponse(asked); });
    host_.cluster.events.After(cost + host_.cluster.random.Exponential(host_.run.pause), [this] {
      ++due_;
      thread_.Notice();
    });
    return cost;
  }
  absl::Duration PriceOfAnswer() {
    const CpuCosts& cpu = host_.cluster.costs.cpu;
    if (host_.run.access == Access::kService) return 2 * cpu.shared_line + cpu.header;
    const absl::Duration poll = cpu.dma_line + cpu.header;
    if (host_.run.access == Access::kOwn) return poll;
    const absl::Time now = host_.cluster.now();
    return host_.completions[Shared()].Take(now, number_, poll, host_.looking[Shared()]) - now;
  }
  absl::Duration Ask() {
    --due_;
    const CpuCosts& cpu = host_.cluster.costs.cpu;
    const absl::Duration begun = host_.cluster.Application();
    const absl::Time asked = host_.cluster.now() + begun;
    const size_t from = number_ % host_.others.size();
    HostNic::Request request;
    request.read = true;
    request.bytes = host_.run.bytes;
    request.peer = host_.others[from].get();
    if (host_.run.access == Access::kService) return AskSkeind(from, asked, std::move(request));
    const size_t queue_pair = host_.run.access == Access::kOwn ? number_ : Shared();
    request.peer_queue_pair = queue_pair;
    request.completed = [this, asked] { Answered(asked); };
    const absl::Duration post = cpu.header + cpu.doorbell;
    const absl::Duration cost = host_.run.access == Access::kOwn
                                    ? begun + post
                                    : host_.sends[queue_pair].Take(asked, number_, post) - host_.cluster.now();
    host_.cluster.events.After(cost, [this, queue_pair, request = std::move(request)]() mutable {
      host_.nic.Post(queue_pair, std::move(request));
    });
    return cost;
  }
  absl::Duration AskSkeind(size_t trunk, absl::Time asked, HostNic::Request wire) {
    wire.peer_queue_pair = trunk;
    News news{&thread_, [this, asked] { answered_.push_back(asked); }};
    const absl::Duration cost = asked - host_.cluster.now() + HandOver(host_.cluster.costs.cpu);
    return cost + host_.skeind->Submit(number_, {trunk, std::move(wire), std::move(news)}, cost);
  }
  void Answered(absl::Time asked) {
    answered_.push_back(asked);
    thread_.Notice();
  }
  // A queue pair leads to one host: threads that share one are the host's that have the next numbers.
  size_t Shared() const {
    const size_t hosts = host_.others.size();
    return number_ / hosts / host_.run.sharers * hosts + number_ % hosts;
  }

  ReadingHost& host_;
  const size_t number_;
  size_t due_;
  bool looks_ = false;
  std::deque<absl::Time> answered_;  // when they were asked for
  PollThread thread_;
};

size_t QueuePairsOf(const ReadRun& run) {
  if (run.access == Access::kService) return run.hosts;
  if (run.access == Access::kOwn) return run.connections;
  const size_t group = run.sharers * run.hosts;
  return (run.connections + group - 1) / group * run.hosts;
}

}  // namespace

absl::Duration HandOver(const CpuCosts& cpu) { return cpu.header + 2 * cpu.shared_line + cpu.swap; }

ServiceOutcome Run(const ReadRun& run, const Costs& costs) {
  ReadingHost host(run, costs);
  const size_t queue_pairs = QueuePairsOf(run);
  for (size_t i = 0; i < run.hosts; ++i) {
    host.others.push_back(std::make_unique<HostNic>(host.cluster.events, host.cluster.costs));
  }
  for (size_t i = 0; i < queue_pairs; ++i) {
    host.sends.emplace_back(host.cluster.costs.cpu);
    host.completions.emplace_back(host.cluster.costs.cpu);
    host.looking.push_back(0);
  }
  if (run.access == Access::kService) {
    host.skeind = std::make_unique<Skeind>(host.cluster, host.nic, run.applications, run.hosts, run.skeind);
  }
  std::vector<std::unique_ptr<Reader>> readers;
  for (size_t i = 0; i < run.connections; ++i) readers.push_back(std::make_unique<Reader>(host, i));
  for (const auto& reader : readers) {
    // Not all at the same time: those that begin together would go on together.
    host.cluster.events.After(host.cluster.random.Below(run.pause + run.warm_up / 2),
                              [&reader] { reader->thread().Notice(); });
  }
  RunFor(host.cluster, run.warm_up);
  host.cluster.StartMeasuring();
  for (const auto& reader : readers) reader->thread().StartMeasuring();
  if (host.skeind != nullptr) host.skeind->StartMeasuring();
  const uint64_t messages = host.nic.messages();
  const uint64_t misses = host.nic.cache_misses();
  RunFor(host.cluster, run.measured);

  ServiceOutcome outcome;
  std::vector<double>& latencies = host.cluster.latencies_us;
  outcome.operations_per_second = static_cast<double>(latencies.size()) / absl::ToDoubleSeconds(run.measured);
  outcome.p50_us = Quantile(latencies, 0.5);
  outcome.p99_us = Quantile(latencies, 0.99);
  outcome.nic_misses =
      static_cast<double>(host.nic.cache_misses() - misses) / static_cast<double>(host.nic.messages() - messages);
  outcome.queue_pairs = static_cast<double>(queue_pairs);
  for (const auto& reader : readers) {
    outcome.processors += absl::FDivDuration(reader->thread().on_processor(), run.measured);
    outcome.busy += absl::FDivDuration(reader->thread().busy(), run.measured);
  }
  if (host.skeind != nullptr) {
    outcome.skeind = absl::FDivDuration(host.skeind->on_processor(), run.measured);
    outcome.skeind_busy = absl::FDivDuration(host.skeind->busy(), run.measured);
    outcome.processors += outcome.skeind;
    outcome.busy += outcome.skeind_busy;
  }
  return outcome;
}

}  // namespace skein::bench
