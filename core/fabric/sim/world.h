// What all objects of one simulation share. They keep it alive, and one mutex guards all of it and all of them.
#ifndef SKEIN_CORE_FABRIC_SIM_WORLD_H_
#define SKEIN_CORE_FABRIC_SIM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/fabric/sim/event_queue.h"
#include "core/fabric/sim/network.h"
#include "core/fabric/sim/nic.h"
#include "core/fabric/sim/random.h"
#include "core/fabric/sim/regions.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::fabric::sim {

class Endpoint;
class SimDevice;

// One device as the simulation sees it; the user's handle may be gone before.
struct DeviceState {
  DeviceState(uint64_t device_number, std::string device_name, const SimConfig& config)
      : number(device_number), name(std::move(device_name)), nic(config) {}

  const uint64_t number;
  const std::string name;  // as the user gave it
  bool alive = true;
  size_t allocated = 0;
  Nic nic;
};

struct World {
  World(uint64_t seed, const SimConfig& sim_config) : config(sim_config), random(seed), network(config) {}

  const SimConfig config;
  Mutex mu;
  Random random ABSL_GUARDED_BY(mu);
  EventQueue events ABSL_GUARDED_BY(mu);
  Network network ABSL_GUARDED_BY(mu);
  RegionTable regions ABSL_GUARDED_BY(mu);

  // By device. Shared with the events that will call them.
  absl::flat_hash_map<std::string, std::shared_ptr<absl::AnyInvocable<void()>>> on_read_served ABSL_GUARDED_BY(mu);
  absl::flat_hash_map<std::string, std::shared_ptr<absl::AnyInvocable<void(absl::Span<const std::byte>)>>>
      on_flush_served ABSL_GUARDED_BY(mu);

  uint64_t last_number ABSL_GUARDED_BY(mu) = 0;  // of devices and queue pairs
  absl::flat_hash_map<std::string, std::weak_ptr<SimDevice>> devices ABSL_GUARDED_BY(mu);
  // Those whose queue pair exists. Ordered, because it is iterated: a run must not depend on hashes or addresses.
  absl::btree_map<uint64_t, Endpoint*> endpoints ABSL_GUARDED_BY(mu);
  // Offers not yet accepted, whole: one changed byte makes an unknown offer.
  absl::flat_hash_map<std::string, std::weak_ptr<Endpoint>> offers ABSL_GUARDED_BY(mu);
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_WORLD_H_
