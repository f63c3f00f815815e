// A process' device, as one link has it: all that is made of it belongs to that end of the link.
#ifndef SKEIN_TESTS_CHAOS_LINK_DEVICE_H_
#define SKEIN_TESTS_CHAOS_LINK_DEVICE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/connect/fabrics.h"
#include "core/link/link.h"
#include "tests/sim/fault_device.h"

namespace skein::chaos {

class LinkDevice final : public fabric::Device {
 public:
  explicit LinkDevice(std::shared_ptr<FaultDevice> device)
      : device_(std::move(device)), end_(std::make_shared<LinkEnd>(device_->process())) {}

  const std::shared_ptr<LinkEnd>& end() const { return end_; }

  absl::string_view name() const override { return device_->name(); }
  fabric::DeviceCapabilities capabilities() const override { return device_->capabilities(); }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    return device_->Allocate(*end_, bytes, access);
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(absl::Span<std::byte> bytes,
                                                                 uint32_t access) override {
    return device_->Register(*end_, bytes, access);
  }
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    return device_->CreateCompletionQueue(*end_, capacity);
  }
  absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t receives) override {
    return device_->CreateSharedReceiveQueue(*end_, receives);
  }
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions& options) override {
    return device_->CreateQueuePair(end_, options);
  }

 private:
  const std::shared_ptr<FaultDevice> device_;
  const std::shared_ptr<LinkEnd> end_;
};

// Of a link that was made of one.
inline std::shared_ptr<LinkEnd> EndOf(const link::Link& link) {
  return static_cast<const LinkDevice&>(*link.device()).end();
}

// Gives a device to each link that might be made.
class LinkFabrics final : public connect::Fabrics {
 public:
  explicit LinkFabrics(std::shared_ptr<FaultDevice> device) : device_(std::move(device)) {}

  std::vector<connect::Candidate> For(const connect::Route&) override {
    auto device = std::make_shared<LinkDevice>(device_);
    last_ = device->end();
    const std::string kind = connect::FabricKind(device->name());
    return {{kind, std::make_shared<channel::RingTransport>(std::move(device)), {}}};
  }
  absl::Status CheckPeer(const connect::Route&, absl::string_view, absl::string_view) override {
    return absl::OkStatus();
  }
  void Failed(const connect::Route&, absl::string_view) override {}

  // What has become of the last of them.
  const std::shared_ptr<LinkEnd>& last() const { return last_; }

 private:
  const std::shared_ptr<FaultDevice> device_;
  std::shared_ptr<LinkEnd> last_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_LINK_DEVICE_H_
