// A device that remembers what has been made of it, and refuses what it is told to.
#ifndef SKEIN_TESTS_SUPPORT_NOTED_DEVICE_H_
#define SKEIN_TESTS_SUPPORT_NOTED_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/forwarding_device.h"
#include "tests/support/refused_queue_pair.h"

namespace skein::fabric {

// Memory that a device is asked for, counted while it is there.
class CountedRegion final : public MemoryRegion {
 public:
  // Its size is part of `bytes` until it goes.
  CountedRegion(std::unique_ptr<MemoryRegion> region, std::shared_ptr<size_t> bytes)
      : region_(std::move(region)), bytes_(std::move(bytes)) {
    *bytes_ += region_->bytes().size();
  }
  ~CountedRegion() override { *bytes_ -= region_->bytes().size(); }
  absl::Span<std::byte> bytes() const override { return region_->bytes(); }
  uint32_t lkey() const override { return region_->lkey(); }
  RemoteAddress remote() const override { return region_->remote(); }

 private:
  const std::unique_ptr<MemoryRegion> region_;
  const std::shared_ptr<size_t> bytes_;
};

inline absl::StatusOr<std::unique_ptr<MemoryRegion>> Counted(absl::StatusOr<std::unique_ptr<MemoryRegion>> region,
                                                             const std::shared_ptr<size_t>& bytes) {
  if (!region.ok()) return region;
  return std::make_unique<CountedRegion>(*std::move(region), bytes);
}

// Which of a device's answers are refusals, counted from 0. It is also asked to connect each queue pair.
struct Refusals {
  size_t first = SIZE_MAX;
  size_t end = SIZE_MAX;
};

// Knows what has been made of it, and what is still there.
class NotedDevice final : public ForwardingDevice {
 public:
  explicit NotedDevice(std::shared_ptr<Device> device, Refusals refusals = {})
      : ForwardingDevice(std::move(device)), refusals_(refusals) {}

  absl::StatusOr<std::shared_ptr<Device>> ForPeer() override {
    if (Refuses()) return Refused();
    return ForwardingDevice::ForPeer();
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Allocate(size_t size, uint32_t access) override {
    if (Refuses()) return Refused();
    return Counted(ForwardingDevice::Allocate(size, access), bytes_);
  }
  absl::StatusOr<std::unique_ptr<MemoryRegion>> Register(absl::Span<std::byte> own, uint32_t access) override {
    if (Refuses()) return Refused();
    return Counted(ForwardingDevice::Register(own, access), bytes_);
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t capacity) override {
    if (Refuses()) return Refused();
    auto made = ForwardingDevice::CreateCompletionQueue(capacity);
    if (made.ok()) completion_queues.push_back(made->get());
    return made;
  }
  absl::StatusOr<std::unique_ptr<SharedReceiveQueue>> CreateSharedReceiveQueue(uint32_t receives) override {
    if (Refuses()) return Refused();
    return ForwardingDevice::CreateSharedReceiveQueue(receives);
  }
  absl::StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(const QueuePairOptions& options) override {
    if (Refuses()) return Refused();
    auto made = ForwardingDevice::CreateQueuePair(options);
    if (!made.ok()) return made;
    queue_pairs.push_back(made->get());
    // Now, though it is asked for later.
    if (!Refuses()) return made;
    return std::make_unique<RefusedQueuePair>(*std::move(made), absl::FailedPreconditionError("refused by the test"),
                                              RefusedQueuePair::PeerSees::kItsEnd);
  }

  void RefuseFromNowOn() { refusals_ = {.first = asked_}; }
  void Relent() { refusals_ = {}; }
  size_t asked() const { return asked_; }
  size_t refused() const { return refused_; }
  size_t bytes() const { return *bytes_; }
  // All there have been.
  std::vector<QueuePair*> queue_pairs;
  std::vector<CompletionQueue*> completion_queues;

 private:
  bool Refuses() {
    const size_t number = asked_++;
    if (number < refusals_.first || number >= refusals_.end) return false;
    ++refused_;
    return true;
  }
  static absl::Status Refused() { return absl::ResourceExhaustedError("refused by the test"); }

  Refusals refusals_;
  size_t asked_ = 0;
  size_t refused_ = 0;
  const std::shared_ptr<size_t> bytes_ = std::make_shared<size_t>(0);
};

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_NOTED_DEVICE_H_
