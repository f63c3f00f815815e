#include "tests/sim/fault_device.h"

#include <algorithm>
#include <utility>

namespace skein::chaos {
namespace {

constexpr uint32_t kShort = 24;  // completions, where a link asks for hundreds

class CountedRegion final : public fabric::MemoryRegion {
 public:
  CountedRegion(std::unique_ptr<fabric::MemoryRegion> region, WireWatch* ring_of, Lent& lent)
      : region_(std::move(region)), ring_of_(ring_of), lent_(lent) {
    ++lent_.regions;
    if (ring_of_ != nullptr) ring_of_->AddRing(region_->remote(), region_->bytes().size());
  }
  ~CountedRegion() override {
    --lent_.regions;
    if (ring_of_ != nullptr) ring_of_->RemoveRing(region_->remote());
  }
  absl::Span<std::byte> bytes() const override { return region_->bytes(); }
  uint32_t lkey() const override { return region_->lkey(); }
  fabric::RemoteAddress remote() const override { return region_->remote(); }

 private:
  const std::unique_ptr<fabric::MemoryRegion> region_;
  WireWatch* const ring_of_;
  Lent& lent_;
};

class CountedReceives final : public fabric::SharedReceiveQueue {
 public:
  CountedReceives(std::unique_ptr<fabric::SharedReceiveQueue> queue, Lent& lent)
      : queue_(std::move(queue)), lent_(lent) {
    ++lent_.queues;
  }
  ~CountedReceives() override { --lent_.queues; }
  absl::Status PostReceive(absl::Span<const fabric::ReceiveRequest> batch) override {
    absl::Status status = queue_->PostReceive(batch);
    if (status.ok()) receives_->posted += batch.size();
    return status;
  }
  fabric::SharedReceiveQueue* inner() const { return queue_.get(); }
  const std::shared_ptr<Receives>& receives() const { return receives_; }

 private:
  const std::unique_ptr<fabric::SharedReceiveQueue> queue_;
  const std::shared_ptr<Receives> receives_ = std::make_shared<Receives>();
  Lent& lent_;
};

absl::Status Refused() { return absl::ResourceExhaustedError("refused by the plan of faults"); }

}  // namespace

FaultQueuePair* FaultDevice::QueuePairAt(uint64_t number) {
  return made_.empty() ? nullptr : made_[number % made_.size()];
}

FaultQueuePair* FaultDevice::Find(uint64_t id) {
  const auto found = std::find_if(made_.begin(), made_.end(), [id](const auto* each) { return each->id() == id; });
  return found == made_.end() ? nullptr : *found;
}

FaultQueuePair* FaultDevice::OuterOf(const fabric::QueuePair* inner) const {
  const auto found = std::find_if(made_.begin(), made_.end(), [&](const auto* each) { return each->inner() == inner; });
  return found == made_.end() ? nullptr : *found;
}

void FaultDevice::ReleaseCompletions() {
  for (FaultQueuePair* queue_pair : made_) queue_pair->HoldCompletionsUntil(absl::InfinitePast());
}

bool FaultDevice::any_failed() const {
  return std::any_of(made_.begin(), made_.end(),
                     [](const auto* queue_pair) { return queue_pair->state() == fabric::QueuePairState::kError; });
}

// A queue pair that has failed and was sending nothing shows by its event descriptor only, which time that is simulated
// has none of.
bool FaultDevice::WouldWake() const {
  return any_failed() ||
         std::any_of(queues_made_.begin(), queues_made_.end(), [](auto* queue) { return queue->WouldWake(); });
}

std::unique_ptr<fabric::MemoryRegion> FaultDevice::Wrap(std::unique_ptr<fabric::MemoryRegion> region, uint32_t access) {
  const bool ring = (access & fabric::kRemoteWrite) != 0;
  return std::make_unique<CountedRegion>(std::move(region), ring ? around_.watch : nullptr, around_.lent);
}

bool FaultDevice::Refuse(Refusals& refusals, FaultKind kind, LinkEnd& end) {
  if (!refusals.Next()) return false;
  around_.journal.Count(kind);
  end.Refuse();
  return true;
}

absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> FaultDevice::Allocate(LinkEnd& end, size_t bytes,
                                                                            uint32_t access) {
  if (Refuse(memory, FaultKind::kNoMemory, end)) return Refused();
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> region = device_->Allocate(bytes, access);
  if (!region.ok()) return region.status();
  return Wrap(*std::move(region), access);
}

absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> FaultDevice::Register(LinkEnd& end, absl::Span<std::byte> bytes,
                                                                            uint32_t access) {
  if (Refuse(memory, FaultKind::kNoMemory, end)) return Refused();
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> region = device_->Register(bytes, access);
  if (!region.ok()) return region.status();
  return Wrap(*std::move(region), access);
}

absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> FaultDevice::CreateCompletionQueue(LinkEnd& end,
                                                                                            uint32_t capacity) {
  if (Refuse(queues, FaultKind::kNoQueue, end)) return Refused();
  if (capacity > kShort && long_queues.Next()) {
    around_.journal.Count(FaultKind::kOverflow);
    end.Break();
    capacity = kShort;
  }
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> queue = device_->CreateCompletionQueue(capacity);
  if (!queue.ok()) return queue.status();
  auto outer = std::make_unique<FaultCompletionQueue>(*this, *std::move(queue));
  queues_made_.push_back(outer.get());
  return outer;
}

absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> FaultDevice::CreateSharedReceiveQueue(LinkEnd& end,
                                                                                                  uint32_t receives) {
  if (Refuse(queues, FaultKind::kNoQueue, end)) return Refused();
  absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> queue = device_->CreateSharedReceiveQueue(receives);
  if (!queue.ok()) return queue.status();
  return std::make_unique<CountedReceives>(*std::move(queue), around_.lent);
}

absl::StatusOr<std::unique_ptr<fabric::QueuePair>> FaultDevice::CreateQueuePair(
    const std::shared_ptr<LinkEnd>& end, const fabric::QueuePairOptions& options) {
  if (Refuse(queue_pairs, FaultKind::kNoQueuePair, *end)) return Refused();
  auto* const send_queue = static_cast<FaultCompletionQueue*>(options.send_queue);
  auto* const receive_queue = static_cast<FaultCompletionQueue*>(options.receive_queue);
  const auto* const shared = static_cast<const CountedReceives*>(options.shared_receive_queue);
  fabric::QueuePairOptions inner = options;
  inner.send_queue = send_queue->inner();
  inner.receive_queue = receive_queue->inner();
  if (shared != nullptr) inner.shared_receive_queue = shared->inner();
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair = device_->CreateQueuePair(inner);
  if (!queue_pair.ok()) return queue_pair.status();
  auto outer =
      std::make_unique<FaultQueuePair>(*this, end, *std::move(queue_pair), send_queue, receive_queue,
                                       shared == nullptr ? std::make_shared<Receives>() : shared->receives(), shared);
  made_.push_back(outer.get());
  return outer;
}

}  // namespace skein::chaos
