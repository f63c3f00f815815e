// One run of the micro-benchmark (SC'21, 5.1): who asks what of the receiver, in which way, and what came of it.
#ifndef SKEIN_BENCH_DURABLE_SCENARIO_H_
#define SKEIN_BENCH_DURABLE_SCENARIO_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/durable/costs.h"

namespace skein::bench::durable {

struct Scenario {
  std::string exchange{};  // a name of Exchanges()
  size_t object_bytes = 1024;
  bool heavy = false;  // the handler takes 100 us more
  uint32_t read_percent = 50;
  size_t batch = 1;  // operations in one flush, or one doorbell
  size_t senders = 1;
  uint64_t operations = 20000;  // of all senders, measured; a tenth more go before
  uint64_t objects = 50000;
  double skew = 0.99;  // zipfian
  uint64_t seed = 1;
};

struct Latency {
  double p50_us = 0;
  double p99_us = 0;
  double mean_us = 0;
};

// An operation is over for its sender when a write is known to be safe, and when a read's object is there. `reply` is
// of all operations, until the receiver's answer.
struct Outcome {
  double operations_per_second = 0;
  Latency all;
  Latency write;
  Latency read;
  Latency reply;
};

absl::StatusOr<Outcome> Run(const Scenario& scenario, const Costs& costs);

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_SCENARIO_H_
