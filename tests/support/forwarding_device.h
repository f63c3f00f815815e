// A device that does what another one does: the base of those that watch, or get in the way.
#ifndef SKEIN_TESTS_SUPPORT_FORWARDING_DEVICE_H_
#define SKEIN_TESTS_SUPPORT_FORWARDING_DEVICE_H_

#include <memory>
#include <utility>

#include "core/fabric/fabric.h"

namespace skein::fabric {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  absl::string_view name() const override { return device_->name(); }
  DeviceCapabilities capabilities() const override { return device_->capabilities(); }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    return device_->Allocate(bytes, access);
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Register(absl::Span<std::byte> bytes, uint32_t access) override {
    return device_->Register(bytes, access);
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    return device_->CreateCompletionQueue(capacity);
  }
  absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t receives) override {
    return device_->CreateSharedReceiveQueue(receives);
  }
  absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) override {
    return device_->CreateQueuePair(options);
  }

 private:
  const std::shared_ptr<Device> device_;
};

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_FORWARDING_DEVICE_H_
