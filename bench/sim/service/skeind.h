// skeind of one host, as core/service has it, and with other threads.
//
//   a process: Submit -> its connection's queue -> a worker: Serve, a turn at a time -> the trunk's queue pair -> NIC
//   a process <- News <- the poller: Poll <- completions and arrivals of the NIC
//
// One thread is worker and poller of all trunks; or RaaS's kinds of thread (V-D) have one job each; or several threads
// each are worker and poller of some trunks. Each job costs what core/service's does (ServiceCosts).
#ifndef SKEIN_BENCH_SIM_SERVICE_SKEIND_H_
#define SKEIN_BENCH_SIM_SERVICE_SKEIND_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "bench/sim/cluster.h"
#include "bench/sim/service/host_nic.h"
#include "bench/sim/service/poll_thread.h"

namespace skein::bench {

// Something that a process hears of, on its thread.
struct News {
  PollThread* process = nullptr;
  HostNic::Action what;
};

class Skeind {
 public:
  // core/service is one worker and nothing else.
  struct Threads {
    size_t workers = 1;         // each serves the trunks whose number is its own, modulo `workers`,
    bool poller = false;        // and polls them, unless one more thread polls all
    bool refill = false;        // and posts receives for those that it has polled, unless one more thread does
    bool one_queue = false;     // a poller has one completion queue for all its trunks; else there is one of each
    bool one_doorbell = false;  // a round of turns rings once for each trunk; else each turn rings
    bool epoll = false;         // tells of sockets with something; else poll(2) looks at each
  };
  struct Request {
    size_t trunk = 0;
    HostNic::Request wire;  // without `completed`
    News completed;         // without a process: nobody waits for it
  };

  // Trunk t of `trunks` is queue pair t of `nic`.
  Skeind(Cluster& cluster, HostNic& nic, size_t sessions, size_t trunks, const Threads& threads);

  // The process will have laid a request there `after` now. Returns what that costs it besides: to wake a thread that
  // is blocked.
  absl::Duration Submit(uint64_t connection, Request request, absl::Duration after);
  // An immediate on that trunk.
  void Arrived(size_t trunk, News news);

  void StartMeasuring();
  absl::Duration on_processor() const;
  absl::Duration busy() const;

 private:
  struct Connection {
    std::deque<Request> requests;
    bool queued = false;  // it has a turn coming, or waits for its trunk
  };
  struct Trunk {
    size_t under_way = 0;
    size_t unsignaled = 0;  // of those, at the end
    std::deque<uint64_t> waiting;
    std::vector<HostNic::Request> batch;
  };
  struct Completion {
    size_t trunk = 0;
    size_t ended = 0;  // requests; 0: something has arrived
    News news;
  };
  // One of them works as worker, as poller, as both, or posts receives.
  struct Thread {
    std::unique_ptr<PollThread> thread;
    bool serves = false;
    bool polls = false;
    size_t trunks = 0;
    uint64_t rounds = 0;
    std::deque<uint64_t> turns;
    std::vector<Completion> completions;
  };

  Thread& WorkerOf(size_t trunk) { return threads_[trunk % options_.workers]; }
  Thread& PollerOf(size_t trunk) { return options_.poller ? threads_[options_.workers] : WorkerOf(trunk); }
  absl::Duration LookAtSockets() const;
  absl::Duration Look(const Thread& of) const;
  absl::Duration Round(Thread& by);
  absl::Duration Serve(Thread& by, absl::Duration begun);
  absl::Duration Turn(uint64_t connection, Thread& by, absl::Duration begun);
  void Add(Trunk& trunk, size_t number, Request request);
  absl::Duration Flush(Trunk& trunk, size_t number, absl::Duration begun);
  void Completed(size_t trunk, size_t ended, News news);
  absl::Duration Poll(Thread& by, absl::Duration begun);
  absl::Duration Tell(News news, absl::Duration when);
  absl::Duration MayGoOn(Trunk& trunk, size_t number, const Thread& says);
  absl::Duration Refill();

  Cluster& cluster_;
  const ServiceCosts& costs_;
  const CpuCosts& cpu_;
  HostNic& nic_;
  const size_t sessions_;
  const Threads options_;
  std::vector<Trunk> trunks_;
  absl::flat_hash_map<uint64_t, Connection> connections_;
  std::vector<Thread> threads_;  // workers, poller, refill
  size_t receives_used_ = 0;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SERVICE_SKEIND_H_
