// The simulated fabric: any number of devices in one process, on simulated time, from one seed. The same seed, the same
// calls: the same run, event for event.
//
// Time stands still until Step, RunFor or RunUntilIdle moves it; Poll does not. Between two Steps memory looks as a
// peer polling it could have seen it: a WRITE half landed included.
//
// Any thread may call anything: one mutex orders it all. Which thread comes first is then up to the scheduler, so only
// single-threaded use is reproducible. Devices may outlive the Simulation; time has then stopped for good.
#ifndef SKEIN_CORE_FABRIC_SIM_SIMULATION_H_
#define SKEIN_CORE_FABRIC_SIM_SIMULATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::fabric {

namespace sim {
struct World;
}  // namespace sim

class Simulation {
 public:
  explicit Simulation(uint64_t seed, const SimConfig& config = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // One process's NIC, called "sim:<name>". The same name gives the same device for as long as that lives; after
  // KillDevice, a new one (the restarted process).
  std::shared_ptr<Device> CreateDevice(absl::string_view name);

  absl::Time now() const;  // starts at absl::UnixEpoch()
  size_t pending_events() const;

  bool Step();          // runs the next event; false when there is none
  void RunUntilIdle();  // Steps until there is none
  void RunFor(absl::Duration duration);

  // Runs `action` as an event of its own, with no lock held.
  void Schedule(absl::Duration delay, absl::AnyInvocable<void()> action);

  // The process behind the device is gone, silently: its queue pairs are in error and what it has not yet sent is
  // lost. Its peers' requests end in kRetryExceeded. What is on the wire still arrives.
  void KillDevice(absl::string_view name);

  // Nothing passes between the two until Heal. Whatever was not given up by then (retry_time) arrives after it.
  void Partition(absl::string_view a, absl::string_view b);
  void Heal(absl::string_view a, absl::string_view b);
  bool Partitioned(absl::string_view a, absl::string_view b) const;

  // The queue pair fails in an event of its own, next at the current time; the peer finds out by itself. False:
  // not a queue pair of this simulation.
  bool FailQueuePair(QueuePair* queue_pair);

  // Calls `action`, as an event of its own, whenever this device has served a READ: what was written before it on that
  // queue pair has then left the device. For who models memory that loses what has not. Until the next call for `name`.
  void OnReadServed(absl::string_view name, absl::AnyInvocable<void()> action);
  // The same of a FLUSH to Placement::kPersistent, with the memory that it has brought there.
  void OnFlushServed(absl::string_view name, absl::AnyInvocable<void(absl::Span<const std::byte>)> action);

  // Whether a thread sleeping on the queue's descriptor would be awake: a completion came after Arm, and AckEvents has
  // not been called since.
  bool WouldWake(const CompletionQueue* queue) const;

 private:
  const std::shared_ptr<sim::World> world_;
};

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_SIM_SIMULATION_H_
