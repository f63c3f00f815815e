#include "core/fabric/sim/device.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"

namespace skein::fabric::sim {
namespace {

constexpr std::align_val_t kAlignment{4096};

struct PageDelete {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};
using PageMemory = std::unique_ptr<std::byte, PageDelete>;

// Memory that belongs to the region where `memory` is set, to the caller otherwise.
class SimMemoryRegion final : public MemoryRegion {
 public:
  SimMemoryRegion(std::shared_ptr<World> world, std::shared_ptr<DeviceState> device, absl::Span<std::byte> bytes,
                  RegionTable::Keys keys, PageMemory memory)
      : world_(std::move(world)), device_(std::move(device)), bytes_(bytes), keys_(keys), memory_(std::move(memory)) {}
  ~SimMemoryRegion() override {
    MutexLock lock(&world_->mu);
    world_->regions.Remove(keys_);
    if (memory_ != nullptr) device_->allocated -= bytes_.size();
  }

  absl::Span<std::byte> bytes() const override { return bytes_; }
  uint32_t lkey() const override { return keys_.lkey; }
  RemoteAddress remote() const override { return keys_.remote; }

 private:
  const std::shared_ptr<World> world_;
  const std::shared_ptr<DeviceState> device_;
  const absl::Span<std::byte> bytes_;
  const RegionTable::Keys keys_;
  const PageMemory memory_;
};

absl::Status Gone(const DeviceState& device) {
  return absl::UnavailableError(absl::StrCat("device sim:", device.name, " was killed"));
}

}  // namespace

SimDevice::SimDevice(std::shared_ptr<World> world, std::shared_ptr<DeviceState> state)
    : world_(std::move(world)), state_(std::move(state)), name_(absl::StrCat("sim:", state_->name)) {}

DeviceCapabilities SimDevice::capabilities() const {
  DeviceCapabilities capabilities;
  capabilities.flush = capabilities.flush_persistent = world_->config.flush;
  capabilities.announces_close = world_->config.announce_close;
  capabilities.max_inline_bytes = world_->config.max_inline_bytes;
  capabilities.max_message_bytes = world_->config.max_message_bytes;
  capabilities.good_message_bytes = std::min(world_->config.max_message_bytes, uint64_t{128} << 10);
  return capabilities;
}

absl::StatusOr<std::unique_ptr<MemoryRegion>> SimDevice::Allocate(size_t bytes, uint32_t access) {
  if (bytes == 0) return absl::InvalidArgumentError("Allocate of 0 bytes");
  if (absl::Status flushes = CheckFlushAccess(access, capabilities()); !flushes.ok()) return flushes;
  if ((access & kRemoteFlushPersistent) != 0) return absl::FailedPreconditionError("memory that is not persistent");
  MutexLock lock(&world_->mu);
  if (!state_->alive) return Gone(*state_);
  const size_t limit = world_->config.max_allocated_bytes;
  if (bytes > limit || state_->allocated > limit - bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("max_allocated_bytes ", limit, ": ", state_->allocated, " in use, ", bytes, " asked for"));
  }
  PageMemory memory(static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow)));
  if (memory == nullptr) return absl::ResourceExhaustedError(absl::StrCat("out of memory for ", bytes, " bytes"));
  std::memset(memory.get(), 0, bytes);
  state_->allocated += bytes;
  const absl::Span<std::byte> span(memory.get(), bytes);
  const RegionTable::Keys keys = world_->regions.Add(state_->number, span, access, world_->random);
  return std::make_unique<SimMemoryRegion>(world_, state_, span, keys, std::move(memory));
}

absl::StatusOr<std::unique_ptr<MemoryRegion>> SimDevice::Register(absl::Span<std::byte> bytes, uint32_t access) {
  if (bytes.empty()) return absl::InvalidArgumentError("Register of 0 bytes");
  if (absl::Status flushes = CheckFlushAccess(access, capabilities()); !flushes.ok()) return flushes;
  MutexLock lock(&world_->mu);
  if (!state_->alive) return Gone(*state_);
  const RegionTable::Keys keys = world_->regions.Add(state_->number, bytes, access, world_->random);
  return std::make_unique<SimMemoryRegion>(world_, state_, bytes, keys, nullptr);
}

absl::StatusOr<std::unique_ptr<CompletionQueue>> SimDevice::CreateCompletionQueue(uint32_t capacity) {
  if (capacity == 0) return absl::InvalidArgumentError("a completion queue of capacity 0");
  MutexLock lock(&world_->mu);
  if (!state_->alive) return Gone(*state_);
  return std::make_unique<SimCompletionQueue>(world_, capacity);
}

absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> SimDevice::CreateSharedReceiveQueue(uint32_t max_receives) {
  if (max_receives == 0) return absl::InvalidArgumentError("a shared receive queue for no request");
  MutexLock lock(&world_->mu);
  if (!state_->alive) return Gone(*state_);
  return std::make_unique<SimSharedReceiveQueue>(world_, state_, max_receives);
}

absl::StatusOr<std::unique_ptr<QueuePair>> SimDevice::CreateQueuePair(const QueuePairOptions& options) {
  auto* send_queue = dynamic_cast<SimCompletionQueue*>(options.send_queue);
  auto* receive_queue = dynamic_cast<SimCompletionQueue*>(options.receive_queue);
  if (send_queue == nullptr || receive_queue == nullptr || send_queue->world() != world_.get() ||
      receive_queue->world() != world_.get()) {
    return absl::InvalidArgumentError("a queue pair needs two completion queues of its own simulation");
  }
  const auto* shared = dynamic_cast<const SimSharedReceiveQueue*>(options.shared_receive_queue);
  if (options.shared_receive_queue != nullptr && (shared == nullptr || shared->device() != state_.get())) {
    return absl::InvalidArgumentError("a shared receive queue of another device");
  }
  if (options.max_send_requests == 0 || (shared == nullptr && options.max_receive_requests == 0)) {
    return absl::InvalidArgumentError("a queue pair for no request");
  }
  if (absl::Status flushes = CheckFlushOption(options, capabilities()); !flushes.ok()) return flushes;
  MutexLock lock(&world_->mu);
  if (!state_->alive) return Gone(*state_);
  return std::make_unique<SimQueuePair>(world_, state_, options, send_queue, receive_queue, shared);
}

SimQueuePair::SimQueuePair(std::shared_ptr<World> world, std::shared_ptr<DeviceState> device,
                           const QueuePairOptions& options, SimCompletionQueue* send_queue,
                           SimCompletionQueue* receive_queue, const SimSharedReceiveQueue* shared)
    : world_(std::move(world)),
      endpoint_(
          std::make_shared<Endpoint>(*world_, std::move(device), this, options, send_queue, receive_queue, shared)) {}

SimQueuePair::~SimQueuePair() {
  MutexLock lock(&world_->mu);
  endpoint_->Detach();
}

absl::StatusOr<std::string> SimQueuePair::Offer() {
  MutexLock lock(&world_->mu);
  return endpoint_->Offer();
}

absl::StatusOr<std::string> SimQueuePair::Accept(absl::string_view offer) {
  MutexLock lock(&world_->mu);
  return endpoint_->Accept(offer);
}

absl::Status SimQueuePair::Complete(absl::string_view answer) {
  MutexLock lock(&world_->mu);
  return endpoint_->Complete(answer);
}

absl::Status SimQueuePair::PostSend(absl::Span<const SendRequest> batch) {
  MutexLock lock(&world_->mu);
  return endpoint_->requester().Post(batch);
}

absl::Status SimQueuePair::PostReceive(absl::Span<const ReceiveRequest> batch) {
  MutexLock lock(&world_->mu);
  return endpoint_->responder().PostReceive(batch);
}

QueuePairState SimQueuePair::state() const {
  MutexLock lock(&world_->mu);
  return endpoint_->state();
}

QueuePairState SimQueuePair::RefreshState() {
  MutexLock lock(&world_->mu);
  endpoint_->peer_watch().Ask();
  return endpoint_->state();
}

absl::Status SimQueuePair::error() const {
  MutexLock lock(&world_->mu);
  return endpoint_->error();
}

void SimQueuePair::Close() {
  MutexLock lock(&world_->mu);
  endpoint_->Close();
}

}  // namespace skein::fabric::sim
