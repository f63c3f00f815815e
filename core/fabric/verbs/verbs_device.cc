#include "core/fabric/verbs/verbs_device.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"
#include "core/fabric/verbs/completion_queue.h"
#include "core/fabric/verbs/memory_region.h"
#include "core/fabric/verbs/port.h"
#include "core/fabric/verbs/queue_pair.h"
#include "core/fabric/verbs/shared_receive_queue.h"

namespace skein::fabric {
namespace {

class VerbsDevice final : public Device {
 public:
  explicit VerbsDevice(verbs::Port port)
      : port_(std::make_shared<const verbs::Port>(std::move(port))),
        name_(absl::StrCat("rdma:", port_->through.device, "/", port_->through.port)) {}

  absl::string_view name() const override { return name_; }
  DeviceCapabilities capabilities() const override { return verbs::CapabilitiesOf(*port_); }
  absl::Status Usable() const override {
    port_->context->DrainEvents();  // without a link, nobody else has
    if (port_->context->gone()) return absl::UnavailableError("the device is gone");
    if (!verbs::HasKeptAddress(*port_)) return absl::UnavailableError("the port has lost its address");
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<Device>> ForPeer() override {
    absl::StatusOr<std::shared_ptr<ibv_pd>> domain = verbs::AllocateDomain(port_->context);
    if (!domain.ok()) return domain.status();
    verbs::Port port = *port_;
    port.domain = *std::move(domain);
    return std::make_shared<VerbsDevice>(std::move(port));
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    return verbs::AllocateRegion(port_, bytes, access);
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Register(absl::Span<std::byte> bytes, uint32_t access) override {
    return verbs::RegisterRegion(port_, bytes, access);
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    return verbs::VerbsCompletionQueue::Create(port_->context, capacity);
  }
  absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t max_receives) override {
    return verbs::VerbsSharedReceiveQueue::Create(port_, max_receives);
  }
  absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) override {
    auto* const send_queue = dynamic_cast<verbs::VerbsCompletionQueue*>(options.send_queue);
    auto* const receive_queue = dynamic_cast<verbs::VerbsCompletionQueue*>(options.receive_queue);
    if (send_queue == nullptr || receive_queue == nullptr) {
      return absl::InvalidArgumentError("a queue pair needs two completion queues of its device");
    }
    const auto* shared = dynamic_cast<const verbs::VerbsSharedReceiveQueue*>(options.shared_receive_queue);
    if (options.shared_receive_queue != nullptr && (shared == nullptr || shared->port() != port_.get())) {
      return absl::InvalidArgumentError("a shared receive queue of another device");
    }
    if (absl::Status flushes = CheckFlushOption(options, capabilities()); !flushes.ok()) return flushes;
    return verbs::VerbsQueuePair::Create(port_, options, send_queue, receive_queue);
  }

 private:
  const std::shared_ptr<const verbs::Port> port_;
  const std::string name_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> OpenVerbsDevice(const verbs::GidEntry& through, const VerbsOptions& options) {
  absl::StatusOr<verbs::Port> port = verbs::OpenPort(through, options);
  if (!port.ok()) return port.status();
  return std::make_shared<VerbsDevice>(*std::move(port));
}

}  // namespace skein::fabric
