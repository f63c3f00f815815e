// A UD queue pair with its completion queue: one for a thread, whoever it talks to.
//
//   Send -> NIC, wire ... flight, where datagrams may be lost ... wire, NIC -> a posted receive -> completion -> Poll
//
// A datagram that finds no receive is lost too.
#ifndef SKEIN_BENCH_SIM_UD_QUEUE_PAIR_H_
#define SKEIN_BENCH_SIM_UD_QUEUE_PAIR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bench/sim/cluster.h"
#include "bench/sim/ud/datagram.h"

namespace skein::bench {

class UdQueuePair {
 public:
  // `number` is the host's. `notice` is called when there is a completion.
  UdQueuePair(Cluster& cluster, Host& host, uint64_t number, absl::AnyInvocable<void()> notice)
      : cluster_(cluster),
        host_(host),
        number_(number),
        notice_(std::move(notice)),
        posted_(cluster.costs.ud.receives) {}
  UdQueuePair(const UdQueuePair&) = delete;
  UdQueuePair& operator=(const UdQueuePair&) = delete;

  struct Envelope {
    UdQueuePair* to = nullptr;
    Datagram datagram;
  };
  // With one doorbell.
  void Send(const std::vector<Envelope>& batch) {
    host_.nic.Doorbell(cluster_.now());
    for (const Envelope& envelope : batch) {
      const absl::Time left = host_.nic.Send(cluster_.now(), number_, OnWire(envelope.datagram)).end;
      if (Loses()) continue;
      cluster_.events.At(left + cluster_.costs.nic.latency, [envelope] { envelope.to->Arrive(envelope.datagram); });
    }
  }
  // At most so many.
  std::vector<Datagram> Poll(size_t most) {
    const auto end = completions_.begin() + static_cast<std::ptrdiff_t>(std::min(most, completions_.size()));
    std::vector<Datagram> polled(completions_.begin(), end);
    completions_.erase(completions_.begin(), end);
    return polled;
  }
  void PostReceives(size_t receives) { posted_ += receives; }

  size_t posted() const { return posted_; }
  uint64_t dropped() const { return dropped_; }  // for want of a receive

 private:
  size_t OnWire(const Datagram& datagram) const { return cluster_.costs.ud.header_bytes + datagram.bytes; }
  bool Loses() {
    const double loss = cluster_.costs.ud.loss;
    return loss > 0 && cluster_.random.Fraction() < loss;
  }
  void Arrive(const Datagram& datagram) {
    const absl::Time received = host_.nic.Receive(cluster_.now(), number_, OnWire(datagram));
    if (posted_ == 0) {
      ++dropped_;
      return;
    }
    --posted_;
    cluster_.events.At(host_.nic.Complete(received), [this, datagram] {
      completions_.push_back(datagram);
      notice_();
    });
  }

  Cluster& cluster_;
  Host& host_;
  const uint64_t number_;
  absl::AnyInvocable<void()> notice_;
  std::deque<Datagram> completions_;
  size_t posted_;
  uint64_t dropped_ = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_QUEUE_PAIR_H_
