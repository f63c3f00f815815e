// What one device's NIC costs in time. A place for what makes many queue pairs slow (a cache of their state, with a
// penalty for a miss): every message passes through Send with the queue pair it belongs to.
#ifndef SKEIN_CORE_FABRIC_SIM_NIC_H_
#define SKEIN_CORE_FABRIC_SIM_NIC_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::fabric::sim {

// Not thread-safe: used under World::mu().
class Nic {
 public:
  struct Slot {
    absl::Time start;  // sources are read here
    absl::Time end;    // the last byte has left
  };

  explicit Nic(const SimConfig& config) : config_(config) {}

  // A new batch's doorbell reaches the NIC; its messages cannot start earlier.
  void Doorbell(absl::Time now) { wire_free_ = std::max(wire_free_, now) + config_.doorbell_cost; }

  // The next message of `bytes` on the wire, in the order of the calls.
  Slot Send(absl::Time now, uint64_t bytes) {
    // Never in the instant of the post: "later than Post" must hold for a free NIC as well.
    const absl::Time start = std::max(wire_free_, now + absl::Nanoseconds(1));
    const auto rate = static_cast<double>(config_.bytes_per_second);
    wire_free_ = start + absl::Seconds(static_cast<double>(bytes) / rate);
    return {start, wire_free_};
  }

  // When a completion raised now is written.
  absl::Time Complete(absl::Time now) {
    completion_free_ = std::max(completion_free_, now) + config_.completion_cost;
    return completion_free_;
  }

  // The arrival a message may have at the earliest, where queue pairs keep their common order.
  absl::Time OrderedArrival(absl::Time arrival) {
    if (config_.reorder_across_queue_pairs) return arrival;
    last_arrival_ = std::max(last_arrival_, arrival);
    return last_arrival_;
  }

 private:
  const SimConfig& config_;
  absl::Time wire_free_ = absl::InfinitePast();
  absl::Time completion_free_ = absl::InfinitePast();
  absl::Time last_arrival_ = absl::InfinitePast();
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_NIC_H_
