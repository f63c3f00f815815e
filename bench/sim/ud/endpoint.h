// A thread with a UD queue pair of its own, as eRPC's event loop is (its Rpc object). A round of it:
//
//   polls up to poll_batch completions -> its owner on each -> posts receives -> its owner's timers -> rings a doorbell
//
// The owner's datagrams wait until the round ends, or until send_batch are there. All that takes time in this order,
// and has its effect at its place in it.
#ifndef SKEIN_BENCH_SIM_UD_ENDPOINT_H_
#define SKEIN_BENCH_SIM_UD_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "bench/sim/cluster.h"
#include "bench/sim/service/poll_thread.h"
#include "bench/sim/ud/datagram.h"
#include "bench/sim/ud/queue_pair.h"

namespace skein::bench {

class UdEndpoint {
 public:
  // Called on the thread: time passes by Spend() and Send().
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void OnDatagram(const Datagram& datagram) = 0;
    // At the end of each round, before its datagrams are sent.
    virtual void OnTimers() {}
    // So many datagrams go with one doorbell.
    virtual void OnDoorbell(size_t /*datagrams*/) {}
    // The round took so long.
    virtual void OnRound(absl::Duration /*work*/) {}
  };

  UdEndpoint(Cluster& cluster, Owner& owner, Host& host, uint64_t queue_pair);

  // There may be something to do: a round.
  void Notice() { thread_.Notice(); }

  // In a round alone.
  absl::Time time() const { return cluster_.now() + spent_; }
  void Spend(absl::Duration work) { spent_ += work; }
  void Send(UdQueuePair& to, Datagram datagram);

  UdQueuePair& queue_pair() { return queue_pair_; }

 private:
  absl::Duration Round();
  void Receive(const Datagram& datagram);
  void PostReceives();
  void Flush();

  Cluster& cluster_;
  Owner& owner_;
  PollThread thread_;
  UdQueuePair queue_pair_;
  absl::Duration spent_;  // in this round
  std::vector<UdQueuePair::Envelope> batch_;
  size_t used_ = 0;  // receives that are not posted again
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_ENDPOINT_H_
