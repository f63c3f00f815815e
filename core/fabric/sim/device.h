// The objects a user of the simulated fabric holds.
#ifndef SKEIN_CORE_FABRIC_SIM_DEVICE_H_
#define SKEIN_CORE_FABRIC_SIM_DEVICE_H_

#include <memory>
#include <string>

#include "core/fabric/fabric.h"
#include "core/fabric/sim/endpoint.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

class SimDevice final : public Device {
 public:
  SimDevice(std::shared_ptr<World> world, std::shared_ptr<DeviceState> state);

  absl::string_view name() const override { return name_; }
  DeviceCapabilities capabilities() const override;
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Allocate(size_t bytes, uint32_t access) override;
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Register(absl::Span<std::byte> bytes, uint32_t access) override;
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override;
  absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t max_receives) override;
  absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) override;

  DeviceState& state() { return *state_; }

 private:
  const std::shared_ptr<World> world_;
  const std::shared_ptr<DeviceState> state_;
  const std::string name_;
};

class SimQueuePair final : public QueuePair {
 public:
  SimQueuePair(std::shared_ptr<World> world, std::shared_ptr<DeviceState> device, const QueuePairOptions& options,
               SimCompletionQueue* send_queue, SimCompletionQueue* receive_queue, const SimSharedReceiveQueue* shared);
  ~SimQueuePair() override;

  absl::StatusOr<std::string> Offer() override;
  absl::StatusOr<std::string> Accept(absl::string_view offer) override;
  absl::Status Complete(absl::string_view answer) override;
  absl::Status PostSend(absl::Span<const SendRequest> batch) override;
  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override;
  QueuePairState state() const override;
  QueuePairState RefreshState() override;
  absl::Status error() const override;
  void Close() override;

 private:
  const std::shared_ptr<World> world_;
  std::shared_ptr<Endpoint> endpoint_;  // set once; what it points to is used under World::mu
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_DEVICE_H_
