// Posted receives, of one endpoint or shared by several, and the queue by which their user posts shared ones.
#ifndef SKEIN_CORE_FABRIC_SIM_RECEIVES_H_
#define SKEIN_CORE_FABRIC_SIM_RECEIVES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/fabric/fabric.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

class Responder;

// Used under World::mu.
class Receives {
 public:
  explicit Receives(uint32_t max) : max_(max) {}

  // Those that take from here, from their construction to Responder::Detach.
  void Attach(Responder* taker) { takers_.push_back(taker); }
  void Detach(const Responder* taker);
  absl::Status Post(const RegionTable& regions, uint64_t device, absl::Span<const ReceiveRequest> batch);
  std::optional<ReceiveRequest> Take();
  // The completion of one that was taken has been polled.
  void Reaped() { --used_; }

 private:
  const uint32_t max_;
  uint32_t used_ = 0;  // unreaped included
  std::deque<ReceiveRequest> posted_;
  std::vector<Responder*> takers_;
};

class SimSharedReceiveQueue final : public SharedReceiveQueue {
 public:
  SimSharedReceiveQueue(std::shared_ptr<World> world, std::shared_ptr<DeviceState> device, uint32_t max)
      : world_(std::move(world)), device_(std::move(device)), receives_(std::make_shared<Receives>(max)) {}

  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override;

  const DeviceState* device() const { return device_.get(); }
  // Outlives this object in endpoints of which something is still on the wire or unpolled.
  const std::shared_ptr<Receives>& receives() const { return receives_; }

 private:
  const std::shared_ptr<World> world_;
  const std::shared_ptr<DeviceState> device_;
  const std::shared_ptr<Receives> receives_;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_RECEIVES_H_
