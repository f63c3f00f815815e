// A host's NIC at work on requests of many queue pairs: those of one go in order, and queue pairs with something to
// send take turns, a burst each. So two messages of 64 KiB on two queue pairs travel mixed, and each burst is a look at
// the state of its queue pair, at both ends: those looks make many queue pairs dear even for large messages.
//
// Nothing is lost: a NIC sends nothing to a host that too much waits for already (priority flow control), and so
// nothing else either. Messages wait at their senders, and are mixed there.
//
// A message costs NIC and wire as much as core/fabric/sim's, as in the other experiments.
#ifndef SKEIN_BENCH_SIM_SERVICE_HOST_NIC_H_
#define SKEIN_BENCH_SIM_SERVICE_HOST_NIC_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bench/sim/costs.h"
#include "core/fabric/sim/event_queue.h"
#include "core/fabric/sim/nic.h"

namespace skein::bench {

class HostNic {
 public:
  using Action = absl::AnyInvocable<void()>;

  struct Request {
    bool read = false;  // else a WRITE
    uint64_t bytes = 0;
    HostNic* peer = nullptr;
    uint64_t peer_queue_pair = 0;
    Action arrived;    // of a WRITE: its bytes are at the peer
    Action completed;  // the answer or the acknowledgement is here
  };

  HostNic(fabric::sim::EventQueue& events, const Costs& costs) : events_(events), costs_(costs), nic_(costs.nic) {}
  HostNic(const HostNic&) = delete;
  HostNic& operator=(const HostNic&) = delete;

  // READs of a queue pair beyond those that the device has under way wait, and so do the requests behind them.
  void Post(uint64_t queue_pair, Request request);

  uint64_t messages() const { return nic_.messages(); }
  uint64_t cache_misses() const { return nic_.cache_misses(); }

 private:
  struct Outgoing {
    uint64_t bytes_left = 0;
    HostNic* to = nullptr;
    uint64_t to_queue_pair = 0;
    Action received;
  };
  // One that has something to do.
  struct QueuePair {
    std::deque<Request> posted;
    size_t reads = 0;
    std::deque<Outgoing> outgoing;
  };

  void Start(uint64_t queue_pair);
  void Finished(uint64_t queue_pair, bool read);
  void ForgetIfIdle(uint64_t queue_pair);
  void Transmit(uint64_t queue_pair, Outgoing message);
  void SendBurst();
  absl::Time MaySendTo(const HostNic& to) const;
  void Receive(uint64_t queue_pair, uint64_t bytes, Action received);

  fabric::sim::EventQueue& events_;
  const Costs& costs_;
  fabric::sim::Nic nic_;
  absl::flat_hash_map<uint64_t, QueuePair> queue_pairs_;
  std::deque<uint64_t> turns_;  // of queue pairs with something outgoing
  bool sending_ = false;
  absl::Time received_until_ = absl::InfinitePast();  // the bytes that have come so far will have been
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVICE_HOST_NIC_H_
