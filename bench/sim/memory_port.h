// A server's memory, which its NIC reads by itself: READs are answered without a core.
#ifndef SKEIN_BENCH_SIM_MEMORY_PORT_H_
#define SKEIN_BENCH_SIM_MEMORY_PORT_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "bench/sim/cluster.h"

namespace skein::bench {

class MemoryPort final : public Port {
 public:
  // Each READ is of `bytes`.
  MemoryPort(Cluster& cluster, Host& host, size_t bytes) : cluster_(cluster), host_(host), bytes_(bytes) {}

  void OnMessage(std::unique_ptr<Message> message) override {
    Host& to = *message->host;
    Port& port = *message->port;
    cluster_.Carry(host_, to, port, std::move(message), bytes_, /*acknowledged=*/false);
  }

 private:
  Cluster& cluster_;
  Host& host_;
  const size_t bytes_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_MEMORY_PORT_H_
