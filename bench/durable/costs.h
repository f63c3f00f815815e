// What things cost on the machine of SC'21 (5.1): two Xeon Gold 6230, Optane DC persistent memory, ConnectX-4 at 56
// Gb/s, DDIO off. README.md says where each number is from. None is fitted.
#ifndef SKEIN_BENCH_DURABLE_COSTS_H_
#define SKEIN_BENCH_DURABLE_COSTS_H_

#include <cstddef>

#include "absl/time/time.h"
#include "bench/sim/costs.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::bench::durable {

struct Costs {
  fabric::SimConfig nic;
  CpuCosts cpu;  // of bench/sim: lines, doorbells, copies
  size_t receiver_cores = 40;
  absl::Duration worth_a_worker = absl::Microseconds(1);  // shorter handlers run on the core that polls
  absl::Duration heavy_handler = absl::Microseconds(100);

  absl::Duration pm_read = absl::Nanoseconds(305);
  double pm_read_bytes_per_nanosecond = 6.6;
  absl::Duration pm_write = absl::Nanoseconds(90);  // stored, written back, fenced
  double pm_write_bytes_per_nanosecond = 2.3;
  absl::Duration clean_line = absl::Nanoseconds(5);  // a line written back that has nothing to write
  double checksum_bytes_per_nanosecond = 14;

  absl::Duration turn = absl::Milliseconds(4);              // of two threads that want one core
  absl::Duration restart = absl::Milliseconds(300);         // of a receiver that has crashed
  absl::Duration retransmission = absl::Milliseconds(100);  // of what the receiver has not acknowledged
  absl::Duration edge = absl::Nanoseconds(4);               // of PageRank's graph, on the sender's core

  // With persistent memory that is so many times slower.
  Costs WithMedia(double times) const {
    Costs costs = *this;
    costs.pm_read *= times;
    costs.pm_write *= times;
    costs.clean_line *= times;
    costs.pm_read_bytes_per_nanosecond /= times;
    costs.pm_write_bytes_per_nanosecond /= times;
    return costs;
  }
  absl::Duration Copy(size_t bytes) const { return Over(bytes, cpu.bytes_per_nanosecond); }
  absl::Duration Checksum(size_t bytes) const { return Over(bytes, checksum_bytes_per_nanosecond); }
  absl::Duration ReadPm(size_t bytes) const { return pm_read + Over(bytes, pm_read_bytes_per_nanosecond); }
  absl::Duration WritePm(size_t bytes) const { return pm_write + Over(bytes, pm_write_bytes_per_nanosecond); }
  // What a CPU has read, and now persists.
  absl::Duration PersistClean(size_t bytes) const { return pm_write + clean_line * (static_cast<double>(bytes) / 64); }

 private:
  static absl::Duration Over(size_t bytes, double bytes_per_nanosecond) {
    return absl::Nanoseconds(static_cast<double>(bytes) / bytes_per_nanosecond);
  }
};

inline Costs PaperMachine() {
  Costs costs;
  costs.nic = ConnectX5();
  costs.nic.bytes_per_second = 7'000'000'000;
  costs.nic.write_spread = absl::ZeroDuration();
  return costs;
}

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_COSTS_H_
