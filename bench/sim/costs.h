// The one calibration of all experiments: what things cost on FLOCK's machines (thesis, 4.1: EPYC 7452 with 32 cores,
// ConnectX-5, 100 Gb/s). README.md says where each number is from.
#ifndef SKEIN_BENCH_SIM_COSTS_H_
#define SKEIN_BENCH_SIM_COSTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::bench {

struct CpuCosts {
  absl::Duration shared_line = absl::Nanoseconds(80);   // a cache line that another core has written
  absl::Duration dma_line = absl::Nanoseconds(300);     // one that the NIC has written, from memory
  absl::Duration doorbell = absl::Nanoseconds(350);     // MMIO, until the write buffer is free again
  absl::Duration swap = absl::Nanoseconds(20);          // an atomic operation, uncontended
  absl::Duration header = absl::Nanoseconds(20);        // of a message: to write or to check
  absl::Duration item = absl::Nanoseconds(20);          // of a message: to write, or to read and hand over
  absl::Duration handler = absl::Nanoseconds(180);      // of one request
  absl::Duration empty_poll = absl::Nanoseconds(8);     // of a ring without anything new: its line is in the cache
  absl::Duration application = absl::Nanoseconds(150);  // a client thread's, between a response and the next request
  absl::Duration noise = absl::Nanoseconds(60);  // the mean of what comes on top of it, exponentially distributed
  double bytes_per_nanosecond = 10;              // copied
};

struct Costs {
  fabric::SimConfig nic;
  CpuCosts cpu;
  size_t server_cores = 32;
  size_t max_batch = 16;  // requests in a message
  absl::Duration scheduling_interval = absl::Microseconds(500);
};

// A ConnectX-5 and the network of the thesis.
inline fabric::SimConfig ConnectX5() {
  fabric::SimConfig config;
  config.latency = absl::Microseconds(1);
  config.jitter = absl::ZeroDuration();
  config.bytes_per_second = 12'500'000'000;
  config.doorbell_cost = absl::ZeroDuration();
  config.completion_cost = absl::Nanoseconds(10);
  config.packet_cost = absl::Nanoseconds(15);
  config.packet_bytes = 1024;
  config.packet_header_bytes = 98;
  config.queue_pair_cache = 960;
  config.queue_pair_miss_cost = absl::Nanoseconds(40);
  return config;
}

inline Costs Calibrated() {
  Costs costs;
  costs.nic = ConnectX5();
  return costs;
}

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_COSTS_H_
