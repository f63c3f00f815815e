#include "core/fabric/shm/shm_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/fallback.h"
#include "core/fabric/shm/queue_pair.h"

namespace skein::fabric {
namespace {

class ShmDevice final : public Device {
 public:
  explicit ShmDevice(const ShmOptions& options) : core_(std::make_shared<shm::DeviceCore>(options)) {}

  const std::shared_ptr<shm::DeviceCore>& core() const { return core_; }
  absl::string_view name() const override { return "shm"; }
  DeviceCapabilities capabilities() const override {
    DeviceCapabilities capabilities;
    capabilities.copies_on_post = true;
    capabilities.announces_close = true;
    capabilities.meets_on_connect = true;
    capabilities.sleeps_through_unsolicited = true;
    capabilities.writes_registered_memory = false;
    capabilities.max_message_bytes = shm::kMaxMessageBytes;
    capabilities.good_message_bytes = uint64_t{128} << 10;
    return capabilities;
  }
  absl::Status Usable() const override { return core_->refusals.OfAll(); }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    return shm::AllocateRegion(core_->regions, bytes, access);
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Register(absl::Span<std::byte> bytes, uint32_t access) override {
    return shm::RegisterRegion(core_->regions, bytes, access);
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    if (capacity == 0) return absl::InvalidArgumentError("a completion queue of no entries");
    return shm::ShmCompletionQueue::Create();
  }
  absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t max_receives) override {
    if (max_receives == 0) return absl::InvalidArgumentError("a shared receive queue with room for no request");
    return std::make_unique<shm::ShmSharedReceiveQueue>(core_, max_receives);
  }
  absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) override {
    // Queues of another device's kind would be a caller's mistake that the cast below makes undefined.
    if (dynamic_cast<shm::ShmCompletionQueue*>(options.send_queue) == nullptr ||
        dynamic_cast<shm::ShmCompletionQueue*>(options.receive_queue) == nullptr) {
      return absl::InvalidArgumentError("a queue pair needs two completion queues of its device");
    }
    const auto* shared = dynamic_cast<const shm::ShmSharedReceiveQueue*>(options.shared_receive_queue);
    if (options.shared_receive_queue != nullptr && (shared == nullptr || shared->core() != core_.get())) {
      return absl::InvalidArgumentError("a shared receive queue of another device");
    }
    return std::make_unique<shm::ShmQueuePair>(core_, options);
  }

 private:
  const std::shared_ptr<shm::DeviceCore> core_;
};

}  // namespace

namespace shm {
std::shared_ptr<DeviceCore> CoreOf(const Device& device) {
  const auto* ours = dynamic_cast<const ShmDevice*>(&device);
  return ours == nullptr ? nullptr : ours->core();
}
}  // namespace shm

absl::StatusOr<std::shared_ptr<Device>> OpenShmDevice(const ShmOptions& options) {
  return std::make_shared<ShmDevice>(options);
}

}  // namespace skein::fabric
