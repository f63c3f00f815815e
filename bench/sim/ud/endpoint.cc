#include "bench/sim/ud/endpoint.h"

#include <utility>

namespace skein::bench {
namespace {

// It polls for ever; a look at an empty completion queue is as in the other model.
PollThread::Habits Habits(const Costs& costs) {
  return {absl::InfiniteDuration(), absl::ZeroDuration(), costs.service.queue};
}

}  // namespace

UdEndpoint::UdEndpoint(Cluster& cluster, Owner& owner, Host& host, uint64_t queue_pair)
    : cluster_(cluster),
      owner_(owner),
      thread_(cluster.events, cluster.random, Habits(cluster.costs), [this] { return Round(); }),
      queue_pair_(cluster, host, queue_pair, [this] { thread_.Notice(); }) {}

absl::Duration UdEndpoint::Round() {
  spent_ = absl::ZeroDuration();
  for (const Datagram& datagram : queue_pair_.Poll(cluster_.costs.ud.poll_batch)) Receive(datagram);
  if (used_ >= cluster_.costs.ud.receive_batch) PostReceives();
  owner_.OnTimers();
  Flush();
  owner_.OnRound(spent_);
  return spent_;
}

// Its completion is polled, its header is read; another receive will take its place.
void UdEndpoint::Receive(const Datagram& datagram) {
  const CpuCosts& cpu = cluster_.costs.cpu;
  Spend(cpu.dma_line * cluster_.costs.ud.lines + cpu.item + cpu.header);
  ++used_;
  owner_.OnDatagram(datagram);
}

void UdEndpoint::PostReceives() {
  Spend(cluster_.costs.ud.receive_request * used_ + cluster_.costs.cpu.header);
  cluster_.events.After(spent_, [this, receives = std::exchange(used_, 0)] { queue_pair_.PostReceives(receives); });
}

void UdEndpoint::Send(UdQueuePair& to, Datagram datagram) {
  const CpuCosts& cpu = cluster_.costs.cpu;
  Spend(cpu.header + cpu.item + cluster_.Copy(datagram.bytes) + cluster_.costs.ud.send_request);
  datagram.from = &queue_pair_;
  batch_.push_back({&to, datagram});
  if (batch_.size() == cluster_.costs.ud.send_batch) Flush();
}

void UdEndpoint::Flush() {
  if (batch_.empty()) return;
  Spend(cluster_.costs.cpu.doorbell);
  owner_.OnDoorbell(batch_.size());
  cluster_.events.After(spent_, [this, batch = std::exchange(batch_, {})] { queue_pair_.Send(batch); });
}

}  // namespace skein::bench
