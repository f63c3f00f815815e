// A client process: its threads' requests, their queue pairs, and FLOCK's sender-side scheduling.
#ifndef SKEIN_BENCH_SIM_CLIENT_H_
#define SKEIN_BENCH_SIM_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/sim/cluster.h"
#include "bench/sim/migration.h"
#include "bench/sim/send_queue.h"
#include "bench/sim/thread_scheduler.h"

namespace skein::bench {

class Server;

// The requests of a process's threads.
class Source {
 public:
  virtual ~Source() = default;
  // The thread's next request, if it is to make one now: it does nothing else until OnFree.
  virtual std::optional<Request> Next(size_t thread) = 0;
  virtual void OnFree(size_t /*thread*/) {}
  virtual void OnResponse(const Request& response) = 0;
};

class Client final : public Port, private SendQueue::Owner {
 public:
  // Its queue pairs are `first_queue_pair` and following; of them the first `active` are.
  Client(Cluster& cluster, Source& source, Host& host, Server& server, uint64_t first_queue_pair, size_t queue_pairs,
         size_t active);

  void Start();
  // Begins the thread's next request, if it has one and may.
  void Work(size_t thread);
  // That it posts to.
  uint64_t QueuePairOf(size_t thread) const;
  // Responses, and what the server says about queue pairs.
  void OnMessage(std::unique_ptr<Message> message) override;

 private:
  struct Thread {
    explicit Thread(uint16_t queue_pair) : target(queue_pair), migration(queue_pair) {}
    bool busy = false;  // between two requests, or with one in a send queue
    uint16_t target;
    Migration migration;
    RequestStats stats;
  };

  void OnTaken(SendQueue& queue, const std::vector<Request>& batch) override;
  void OnPosted(SendQueue& queue, const std::vector<Request>& batch) override;
  void OnFree(size_t thread) override;
  void Submit(Request request);
  void Deliver(const Message& message);
  void OnCredits(const Message& message);
  void Reassign();
  void ReassignByTurn(const std::vector<uint16_t>& active);
  void EndInterval();
  SendQueue& QueueOf(uint64_t queue_pair) { return *queues_[queue_pair - queues_.front()->queue_pair()]; }

  Cluster& cluster_;
  Source& source_;
  Host& host_;
  Server& server_;
  std::vector<std::unique_ptr<SendQueue>> queues_;
  std::vector<Thread> threads_;
  bool changed_ = true;  // in this interval: which queue pairs are active
  absl::Time dispatcher_free_ = absl::InfinitePast();
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_CLIENT_H_
