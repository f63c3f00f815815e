#ifndef SKEIN_TESTS_UNIT_SERVICE_COUNTED_DEVICE_H_
#define SKEIN_TESTS_UNIT_SERVICE_COUNTED_DEVICE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include "tests/support/forwarding_device.h"

namespace skein::service {

// Knows how many regions of processes it has now. skeind's own are allocated, and not counted. While `holds_large`, the
// kernel is busy with large ones: nobody gets one or is rid of one. While `holds_queue_pairs`, it makes none.
class CountedDevice final : public fabric::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(absl::Span<std::byte> bytes,
                                                                 uint32_t access) override {
    Hold(bytes.size());
    auto made = ForwardingDevice::Register(bytes, access);
    if (!made.ok()) return made;
    if (!IsLarge(bytes.size())) small_in = std::this_thread::get_id();
    return std::make_unique<Region>(*std::move(made), *this, access != fabric::kLocalOnly);
  }

  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions& options) override {
    ++held;
    while (holds_queue_pairs) std::this_thread::yield();
    --held;
    if (!makes_queue_pairs) return absl::ResourceExhaustedError("no more queue pairs");
    return ForwardingDevice::CreateQueuePair(options);
  }

  std::atomic<int> regions = 0;
  std::atomic<bool> holds_large = false;
  std::atomic<bool> holds_queue_pairs = false;
  std::atomic<bool> makes_queue_pairs = true;
  std::atomic<int> held = 0;       // that wait for that
  std::atomic<int> reachable = 0;  // regions, by peers
  // The threads that the last small one was made in, and in which the last large one went.
  std::atomic<std::thread::id> small_in;
  std::atomic<std::thread::id> large_gone_in;

 private:
  static bool IsLarge(size_t bytes) { return bytes >= 512 << 10; }
  void Hold(size_t bytes) {
    if (!IsLarge(bytes)) return;
    ++held;
    while (holds_large) std::this_thread::yield();
    --held;
  }

  class Region final : public fabric::MemoryRegion {
   public:
    Region(std::unique_ptr<fabric::MemoryRegion> region, CountedDevice& device, bool is_reachable)
        : region_(std::move(region)), device_(device), reachable_(is_reachable ? 1 : 0) {
      ++device_.regions;
      device_.reachable += reachable_;
    }
    ~Region() override {
      device_.Hold(bytes().size());
      if (IsLarge(bytes().size())) device_.large_gone_in = std::this_thread::get_id();
      --device_.regions;
      device_.reachable -= reachable_;
    }
    absl::Span<std::byte> bytes() const override { return region_->bytes(); }
    uint32_t lkey() const override { return region_->lkey(); }
    fabric::RemoteAddress remote() const override { return region_->remote(); }

   private:
    const std::unique_ptr<fabric::MemoryRegion> region_;
    CountedDevice& device_;
    const int reachable_;
  };
};

}  // namespace skein::service

#endif  // SKEIN_TESTS_UNIT_SERVICE_COUNTED_DEVICE_H_
