// What one device's NIC costs in time: a unit that works on what is sent and one for what is received, with one cache
// of queue pairs; the wire out and the wire in. A unit works on one message while its wire carries another.
//
//   Doorbell, Send -> unit out -> wire out -> ... flight ... -> wire in -> unit in -> Receive's time
//
// Answers are messages too, acknowledgements ones without bytes.
#ifndef SKEIN_CORE_FABRIC_SIM_NIC_H_
#define SKEIN_CORE_FABRIC_SIM_NIC_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "core/fabric/sim/queue_pair_cache.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::fabric::sim {

// Not thread-safe: used under World::mu(). The queue pairs it is told of are this device's, by any number.
class Nic {
 public:
  struct Slot {
    absl::Time start;  // sources are read here
    absl::Time end;    // the last byte has left
  };

  explicit Nic(const SimConfig& config) : config_(config), cache_(config.queue_pair_cache) {}

  // A new batch's doorbell reaches the NIC; its messages cannot start earlier.
  void Doorbell(absl::Time now) { unit_out_free_ = std::max(unit_out_free_, now) + config_.doorbell_cost; }

  // The next message of `bytes` on the wire, in the order of the calls.
  Slot Send(absl::Time now, uint64_t queue_pair, uint64_t bytes) {
    // Never in the instant of the post: "later than Post" must hold for a free NIC as well.
    unit_out_free_ = std::max(unit_out_free_, now + absl::Nanoseconds(1)) + Work(queue_pair, bytes);
    const absl::Time start = std::max(wire_out_free_, unit_out_free_);
    wire_out_free_ = start + OnWire(bytes);
    return {start, wire_out_free_};
  }

  // When a message whose last byte arrives at `now` has been received. The wire in is as fast as the sender's, so it
  // delays nobody until several send at once.
  absl::Time Receive(absl::Time now, uint64_t queue_pair, uint64_t bytes) {
    wire_in_free_ = std::max(wire_in_free_ + OnWire(bytes), now);
    unit_in_free_ = std::max(unit_in_free_, wire_in_free_) + Work(queue_pair, bytes);
    return unit_in_free_;
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

  uint64_t messages() const { return messages_; }          // sent and received
  uint64_t cache_misses() const { return cache_misses_; }  // of them

 private:
  uint64_t Packets(uint64_t bytes) const {
    return bytes == 0 ? 1 : (bytes + config_.packet_bytes - 1) / config_.packet_bytes;
  }
  absl::Duration OnWire(uint64_t bytes) const {
    const auto total = static_cast<double>(bytes + Packets(bytes) * config_.packet_header_bytes);
    return absl::Seconds(total / static_cast<double>(config_.bytes_per_second));
  }
  absl::Duration Work(uint64_t queue_pair, uint64_t bytes) {
    const absl::Duration packets = config_.packet_cost * Packets(bytes);
    ++messages_;
    if (cache_.Touch(queue_pair)) return packets;
    ++cache_misses_;
    return packets + config_.queue_pair_miss_cost;
  }

  const SimConfig& config_;
  QueuePairCache cache_;
  absl::Time unit_out_free_ = absl::InfinitePast();
  absl::Time unit_in_free_ = absl::InfinitePast();
  absl::Time wire_out_free_ = absl::InfinitePast();
  absl::Time wire_in_free_ = absl::InfinitePast();
  absl::Time completion_free_ = absl::InfinitePast();
  absl::Time last_arrival_ = absl::InfinitePast();
  uint64_t messages_ = 0;
  uint64_t cache_misses_ = 0;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_NIC_H_
