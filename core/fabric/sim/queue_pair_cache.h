// A NIC's memory for the state of queue pairs: what is not in it must be fetched from the host's memory.
#ifndef SKEIN_CORE_FABRIC_SIM_QUEUE_PAIR_CACHE_H_
#define SKEIN_CORE_FABRIC_SIM_QUEUE_PAIR_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/fabric/sim/random.h"

namespace skein::fabric::sim {

// The victim is drawn, not the least recently used: how NICs choose is unpublished, and requests in a closed loop come
// round in turn, where LRU hits always or never, depending on a single queue pair more.
class QueuePairCache {
 public:
  // `capacity` 0: it holds all there are. The chance is its own: a cost that is switched on changes nothing else.
  explicit QueuePairCache(size_t capacity) : capacity_(capacity), random_(capacity) {}

  // Whether the state of `queue_pair` was there. It is now.
  bool Touch(uint64_t queue_pair) {
    if (capacity_ == 0) return true;
    const size_t slot = slots_.size() < capacity_ ? slots_.size() : random_.Below(capacity_);
    if (!slot_of_.try_emplace(queue_pair, slot).second) return true;
    if (slot == slots_.size()) {
      slots_.push_back(queue_pair);
    } else {
      slot_of_.erase(slots_[slot]);
      slots_[slot] = queue_pair;
    }
    return false;
  }

 private:
  const size_t capacity_;
  Random random_;
  std::vector<uint64_t> slots_;
  absl::flat_hash_map<uint64_t, size_t> slot_of_;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_QUEUE_PAIR_CACHE_H_
