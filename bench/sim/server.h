// The server: cores that poll its rings, and FLOCK's receiver-side scheduling.
#ifndef SKEIN_BENCH_SIM_SERVER_H_
#define SKEIN_BENCH_SIM_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bench/sim/cluster.h"
#include "bench/sim/queue_pair_shares.h"
#include "core/schedule/credits.h"
#include "core/schedule/turns.h"

namespace skein::bench {

class Client;

class Server final : public Port {
 public:
  Server(Cluster& cluster, uint32_t max_active)
      : cluster_(cluster), host_(cluster.costs.nic), shares_(max_active), turns_(max_active) {}

  // A client with `queue_pairs`. Returns how many of them it may use; all, where the scenario has no schedulers.
  size_t Add(Host& host, size_t queue_pairs);
  // Clients in the order of Add.
  void Start(const std::vector<std::unique_ptr<Client>>& clients);

  // Requests.
  void OnMessage(std::unique_ptr<Message> message) override;

  Host& host() { return host_; }
  size_t active_queue_pairs() const;

 private:
  struct Ring {
    size_t client = 0;
    uint16_t queue_pair = 0;  // the client's number of it
    size_t core = 0;          // that polls it,
    size_t place = 0;         // as its so manieth
    uint64_t consumed = 0;
    std::deque<std::unique_ptr<Message>> messages;
  };
  // Polls its rings in turn. `at` is where it polls next if it is to do so at `since`.
  struct Core {
    std::vector<Ring*> rings;
    size_t at = 0;
    absl::Time since = absl::InfinitePast();
    bool working = false;
    size_t ahead = SIZE_MAX;  // of `at`: the ring it will find something in, if any
    uint64_t visit = 0;       // outdates events that were scheduled before a nearer ring got a message
  };
  struct Peer {
    Host* host = nullptr;
    Client* client = nullptr;
    uint64_t sender = 0;  // to the scheduler
    uint64_t first_ring = 0;
  };

  bool Scheduled() const { return cluster_.scenario.threads_per_queue_pair == 0; }
  // Skein's scheduler, of processes with one queue pair each; else FLOCK's.
  bool InTurns() const { return rings_.size() == peers_.size(); }
  bool Coalesces() const;
  void Head(size_t core, size_t ahead);
  void Walk(size_t core);
  void Visit(size_t core, uint64_t visit);
  std::unique_ptr<Message> Consume(Ring& ring);
  absl::Duration WorkOf(const Message& response, size_t messages) const;
  void Respond(Ring& ring, std::unique_ptr<Message> response);
  bool Grant(const Ring& ring, uint16_t degree);
  void Activate(uint64_t sender, uint16_t queue_pair);
  void EndInterval();

  Cluster& cluster_;
  Host host_;
  QueuePairShares shares_;
  schedule::Turns turns_;
  std::vector<Peer> peers_;
  absl::flat_hash_map<uint64_t, size_t> peer_of_sender_;
  std::deque<Ring> rings_;
  std::vector<Core> cores_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVER_H_
