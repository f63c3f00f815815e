// Where a run happens: a simulated network and the processes on it, which die, pause and come back.
#ifndef SKEIN_TESTS_CHAOS_WORLD_H_
#define SKEIN_TESTS_CHAOS_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/fabric/sim/simulation.h"
#include "tests/sim/dice.h"
#include "tests/sim/fault_device.h"
#include "tests/sim/journal.h"

namespace skein::chaos {

// Until the other end of a TCP connection is seen to have gone.
inline constexpr absl::Duration kNews = absl::Microseconds(20);

struct WorldShape {
  size_t processes = 0;
  bool rings = true;  // what is written are rings of links, to be watched
};

class World {
 public:
  World(uint64_t seed, const WorldShape& shape, Journal& journal);
  ~World();

  Dice& dice() { return dice_; }
  Journal& journal() { return journal_; }
  fabric::Simulation& simulation() { return simulation_; }
  absl::Duration now() const { return simulation_.now() - absl::UnixEpoch(); }
  // What policies read, simulated time that jumps: one clock that nobody sets, and the wall's, which goes back, too.
  absl::Time steady_clock() const { return simulation_.now() + steady_offset_; }
  absl::Time wall_clock() const { return simulation_.now() + wall_offset_; }
  // By how much the wall's has jumped ahead, in all.
  absl::Duration wall_jumps() const { return wall_jumps_; }
  size_t processes() const { return processes_.size(); }

  bool parted(size_t a, size_t b) const { return simulation_.Partitioned(processes_[a].name, processes_[b].name); }
  bool announces_close() const { return config_.announce_close; }
  // The longest that anything is on its way when nothing is broken, the news that a connection was closed among it.
  absl::Duration longest_flight() const { return config_.latency + config_.jitter; }

  bool alive(size_t process) const { return processes_[process].device != nullptr; }
  // Alive, and not paused.
  bool awake(size_t process) const { return alive(process) && simulation_.now() >= processes_[process].paused_until; }
  // As long as it is alive.
  const std::shared_ptr<FaultDevice>& device(size_t process) const { return processes_[process].device; }

  // All kinds but deaths and closes, which are for whoever knows what processes are made of. Each is counted where, and
  // if, it takes effect.
  void Apply(const Fault& fault);
  // Its device is gone for its peers; it may be used, to no avail, until BecomeDead.
  void Kill(size_t process);
  void BecomeDead(size_t process) { processes_[process].device.reset(); }
  void Start(size_t process);
  // Nothing is broken any more, and nothing breaks by itself.
  void Heal();

  // Once all is closed.
  void CheckNothingIsLeft();

 private:
  struct Process {
    std::string name;
    std::shared_ptr<FaultDevice> device;
    absl::Time paused_until = absl::InfinitePast();
  };

  static fabric::SimConfig DrawConfig(Dice& dice);
  void BreakQueuePair(const Fault& fault);
  void Partition(const Fault& fault);
  void HoldCompletions(const Fault& fault);
  void JumpClocks(const Fault& fault);

  Journal& journal_;
  Dice dice_;
  const fabric::SimConfig config_;
  fabric::Simulation simulation_;
  WireWatch watch_;
  Surroundings around_;
  absl::Duration steady_offset_;
  absl::Duration wall_offset_;
  absl::Duration wall_jumps_;
  std::vector<Process> processes_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_WORLD_H_
