// The server: cores with an endpoint each, which execute requests and answer datagrams.
#ifndef SKEIN_BENCH_SIM_UD_SERVER_H_
#define SKEIN_BENCH_SIM_UD_SERVER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/sim/cluster.h"
#include "bench/sim/ud/endpoint.h"
#include "bench/sim/ud/server_session.h"

namespace skein::bench {

class UdServer {
 public:
  explicit UdServer(Cluster& cluster);

  // The end of a session there, for a client to send to.
  struct Address {
    UdQueuePair* queue_pair = nullptr;
    size_t session = 0;
  };
  // Cores take sessions in turn.
  Address Add(const Exchange& exchange);

  Host& host() { return host_; }

 private:
  class Core final : private UdEndpoint::Owner {
   public:
    Core(Cluster& cluster, Host& host, uint64_t queue_pair);
    Address Add(const Exchange& exchange);

   private:
    void OnDatagram(const Datagram& datagram) override;
    void OnDoorbell(size_t datagrams) override { cluster_.CountSent(datagrams); }
    void OnRound(absl::Duration work) override { cluster_.CountWork(work); }
    void Execute(const Exchange& exchange);

    Cluster& cluster_;
    UdEndpoint endpoint_;
    std::vector<UdServerSession> sessions_;
  };

  Host host_;
  std::vector<std::unique_ptr<Core>> cores_;
  size_t sessions_ = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_SERVER_H_
