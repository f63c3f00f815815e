// Who reaches whom, and how long it takes. A place for packet loss: a lost packet is a longer flight, until retry_time.
#ifndef SKEIN_CORE_FABRIC_SIM_NETWORK_H_
#define SKEIN_CORE_FABRIC_SIM_NETWORK_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/fabric/sim/random.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::fabric::sim {

// Not thread-safe: used under World::mu(). Devices are known by name: a restarted one is as partitioned as before.
class Network {
 public:
  explicit Network(const SimConfig& config) : config_(config) {}

  void Partition(absl::string_view a, absl::string_view b) { cuts_.insert(Cut(a, b)); }
  void Heal(absl::string_view a, absl::string_view b) { cuts_.erase(Cut(a, b)); }
  bool Blocked(absl::string_view a, absl::string_view b) const { return !cuts_.empty() && cuts_.contains(Cut(a, b)); }

  absl::Duration Flight(Random& random) const { return config_.latency + random.Below(config_.jitter); }

 private:
  static std::pair<std::string, std::string> Cut(absl::string_view a, absl::string_view b) {
    return a < b ? std::pair(std::string(a), std::string(b)) : std::pair(std::string(b), std::string(a));
  }

  const SimConfig& config_;
  absl::flat_hash_set<std::pair<std::string, std::string>> cuts_;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_NETWORK_H_
