#include "core/fabric/service/service_device.h"

#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/sealed_memory.h"
#include "core/fabric/requests.h"
#include "core/fabric/service/completion_queue.h"
#include "core/fabric/service/queue_pair.h"
#include "core/fabric/service/session.h"

namespace skein::fabric {
namespace service {
namespace {

class ServiceRegion final : public MemoryRegion {
 public:
  ServiceRegion(std::shared_ptr<Session> session, Mapping mapping, const Reply& registered)
      : session_(std::move(session)), mapping_(std::move(mapping)), lkey_(registered.number), rkey_(registered.key) {}
  // Waits until no peer's request reaches it; at last skeind has a mapping of its own, and what is late lands there.
  ~ServiceRegion() override { session_->LetGo(Operation::kForget, lkey_); }

  absl::Span<std::byte> bytes() const override { return mapping_.bytes(); }
  uint32_t lkey() const override { return lkey_; }
  RemoteAddress remote() const override { return {reinterpret_cast<uint64_t>(mapping_.data()), rkey_}; }

 private:
  const std::shared_ptr<Session> session_;
  const Mapping mapping_;
  const uint32_t lkey_;
  const uint32_t rkey_;
};

class ServiceDevice final : public Device {
 public:
  explicit ServiceDevice(std::shared_ptr<Session> session)
      : session_(std::move(session)),
        name_(absl::StrCat(kServiceKind, ":", session_->device().substr(session_->device().find(':') + 1))) {}

  absl::string_view name() const override { return name_; }
  DeviceCapabilities capabilities() const override {
    DeviceCapabilities capabilities;
    capabilities.max_message_bytes = session_->max_message_bytes();
    capabilities.good_message_bytes = session_->good_message_bytes();
    capabilities.immediate_bits = kImmediateBits;
    return capabilities;
  }
  absl::Status Usable() const override {
    session_->Look();
    return session_->error();
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    if (bytes == 0) return absl::InvalidArgumentError("a memory region of no bytes");
    if (absl::Status flushes = CheckFlushAccess(access, capabilities()); !flushes.ok()) return flushes;
    absl::StatusOr<SharedMemory> memory = CreateShared("skein-memory", bytes, /*peers_write=*/true);
    if (!memory.ok()) return memory.status();
    Request request;
    request.operation = Operation::kRegister;
    request.access = access;
    request.size = bytes;
    request.address = reinterpret_cast<uint64_t>(memory->mapping.data());
    const absl::StatusOr<Reply> registered = session_->Ask(request, memory->memfd.get());
    if (!registered.ok()) return registered.status();
    return std::make_unique<ServiceRegion>(session_, std::move(memory->mapping), *registered);
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Register(absl::Span<std::byte>, uint32_t) override {
    return absl::InvalidArgumentError("skeind can use no memory but what was allocated for it");
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    return ServiceCompletionQueue::Create(session_, capacity);
  }
  absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t max_receives) override {
    if (max_receives == 0) return absl::InvalidArgumentError("a shared receive queue of no receives");
    return std::make_unique<ServiceReceives>(max_receives);
  }
  absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) override {
    if (absl::Status flushes = CheckFlushOption(options, capabilities()); !flushes.ok()) return flushes;
    return ServiceQueuePair::Create(session_, options, session_->max_message_bytes());
  }

 private:
  const std::shared_ptr<Session> session_;
  const std::string name_;
};

}  // namespace
}  // namespace service

bool MayHaveService(const std::string& folder) {
  return access(absl::StrCat(folder, "/", service::kSocketName).c_str(), F_OK) == 0;
}

absl::StatusOr<std::shared_ptr<Device>> OpenServiceDevice(const std::string& folder, absl::string_view local_address,
                                                          absl::Duration silence) {
  absl::StatusOr<std::shared_ptr<service::Session>> session = service::Session::Open(folder, local_address, silence);
  if (!session.ok()) return session.status();
  return std::make_shared<service::ServiceDevice>(*std::move(session));
}

}  // namespace skein::fabric
