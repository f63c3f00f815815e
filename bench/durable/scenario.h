// One run of SC'21's benchmarks (5.1): who asks what of the receiver, in which way, beside what; and the outcome.
#ifndef SKEIN_BENCH_DURABLE_SCENARIO_H_
#define SKEIN_BENCH_DURABLE_SCENARIO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/durable/costs.h"
#include "bench/durable/workload.h"

namespace skein::bench::durable {

struct Scenario {
  std::string exchange{};  // a name of Exchanges()
  size_t object_bytes = 1024;
  bool heavy = false;  // the handler takes 100 us more
  uint32_t read_percent = 50;
  size_t batch = 1;  // operations in one flush, or one post
  size_t senders = 1;
  // Requests of all senders, measured; a tenth more go before. 0: all that an application asks, until it ends.
  uint64_t operations = 20000;
  uint64_t objects = 50000;
  double skew = 0.99;  // zipfian
  uint64_t seed = 1;

  std::string application{};   // "A" to "F" of YCSB, or PageRank on a graph of kGraphs; else the micro-benchmark
  size_t ahead = 1;            // requests under way at once, where an application can ask for the next without the last
  bool busy_sender = false;    // another thread computes on the sender's core,
  bool busy_receiver = false;  // or on those that poll at the receiver
  size_t background = 0;       // WRITEs of another program that are under way beside, of 1 KiB
  double media = 1;            // persistent memory is so many times slower
};

struct Latency {
  double p50_us = 0;
  double p99_us = 0;
  double mean_us = 0;
};

// A request is over for its sender when a write is known to be safe, and when a read's object is there. `reply` is of
// all requests, until the receiver's answer; `operation` of the application's operations, which may be several
// requests.
struct Outcome {
  double operations_per_second = 0;
  double seconds = 0;  // simulated, all in all
  Latency all;
  Latency write;
  Latency read;
  Latency reply;
  Latency operation;
  // Of a request's mean latency: on the sender's core, and on the receiver's. The rest is the network's.
  double sender_us = 0;
  double receiver_us = 0;
};

// Errors: INVALID_ARGUMENT for a scenario that there is not; the exchange's.
absl::StatusOr<Outcome> Run(const Scenario& scenario, const Costs& costs);

// The workload of each sender. INVALID_ARGUMENT for an unknown application.
absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(const Scenario& scenario, const Costs& costs);

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_SCENARIO_H_
