// A client thread with an endpoint and a session with one core of the server. It keeps requests outstanding.
#ifndef SKEIN_BENCH_SIM_UD_CLIENT_H_
#define SKEIN_BENCH_SIM_UD_CLIENT_H_

#include <cstddef>
#include <cstdint>

#include "bench/sim/cluster.h"
#include "bench/sim/ud/endpoint.h"
#include "bench/sim/ud/server.h"
#include "bench/sim/ud/session.h"

namespace skein::bench {

class UdClient final : private UdEndpoint::Owner, private UdSession::Port {
 public:
  UdClient(Cluster& cluster, Host& host, uint64_t queue_pair, UdServer& server, const Exchange& exchange);

  void Start();
  const UdSession& session() const { return session_; }

 private:
  void OnDatagram(const Datagram& answer) override;
  void OnTimers() override;
  absl::Time time() const override { return endpoint_.time(); }
  void Spend(absl::Duration work) override { endpoint_.Spend(work); }
  void Send(const Datagram& datagram) override;
  void Scan();

  Cluster& cluster_;
  const UdServer::Address server_;
  UdEndpoint endpoint_;
  UdSession session_;
  size_t to_begin_;  // requests
  bool to_scan_ = false;
  absl::Time noticed_ = absl::InfinitePast();  // for a paced datagram
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_CLIENT_H_
