// One run: its senders and requests, and its outcome.
#ifndef SKEIN_BENCH_SIM_SCENARIO_H_
#define SKEIN_BENCH_SIM_SCENARIO_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/sim/costs.h"

namespace skein::bench {

enum class Sharing : uint8_t {
  kCombining,  // FLOCK's: a leader posts for all who wait
  kSpinlock,   // each posts for itself, one after the other
  kDedicated,  // nobody shares
};

struct Scenario {
  size_t hosts = 23;  // each with a NIC
  size_t processes_per_host = 1;
  size_t threads = 1;      // of a process
  size_t outstanding = 8;  // requests of a thread

  Sharing sharing = Sharing::kCombining;
  // 0: as the schedulers decide, out of a pool of `pool` queue pairs a process. Else thread i of a process uses queue
  // pair i / threads_per_queue_pair for good, and all are active.
  size_t threads_per_queue_pair = 0;
  size_t pool = 0;          // 0: one queue pair for each thread
  bool one_poller = false;  // one core of the server polls all rings of a process, as one thread polls a link of Skein
  bool coalescing = true;   // kCombining: of requests and of responses
  bool thread_scheduling = true;  // else threads take the active queue pairs in turn, whatever they send

  size_t bytes = 64;  // of requests and responses
  // Of each process's threads, so many in a hundred send requests of `large_bytes` (the responses have `bytes`).
  size_t large_percent = 0;
  size_t large_bytes = 0;
  size_t scan_percent = 0;  // of requests: the server goes through IndexCosts::scan more for each of them

  absl::Duration warm_up = absl::Milliseconds(3);
  absl::Duration measured = absl::Milliseconds(3);
  uint64_t seed = 1;

  // Of a thread's requests. Large ones are spread evenly among the others: thread numbers say nothing about sizes.
  size_t RequestBytes(size_t thread) const {
    const size_t large = threads * large_percent / 100;
    return (thread + 1) * large / threads != thread * large / threads ? large_bytes : bytes;
  }
};

// The same run for a test of its claims' directions: less simulated time.
inline Scenario Quick(Scenario scenario) {
  scenario.warm_up /= 2;
  scenario.measured /= 4;
  return scenario;
}

struct Outcome {
  double requests_per_second = 0;
  double requests_per_message = 0;   // that the server receives
  double requests_per_response = 0;  // message that it sends: one doorbell each
  double p50_us = 0;
  double p99_us = 0;
  double active_queue_pairs = 0;  // at the end
  double nic_misses = 0;          // of the server's messages, the part that missed the cache
  double server_busy = 0;         // the part of its cores' time spent on messages
};

absl::StatusOr<Outcome> Run(const Scenario& scenario, const Costs& costs);

// FLOCK's figure 2.2 (a): `queue_pairs`, spread over the scenario's hosts, each with one READ of 16 bytes outstanding.
absl::StatusOr<Outcome> RunReads(const Scenario& scenario, size_t queue_pairs, const Costs& costs);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_SCENARIO_H_
