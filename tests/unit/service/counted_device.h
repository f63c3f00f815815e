#ifndef SKEIN_TESTS_UNIT_SERVICE_COUNTED_DEVICE_H_
#define SKEIN_TESTS_UNIT_SERVICE_COUNTED_DEVICE_H_

#include <atomic>
#include <memory>
#include <utility>

#include "tests/support/forwarding_device.h"

namespace skein::service {

// Knows how many regions of processes it has now. skeind's own are allocated, and not counted.
class CountedDevice final : public fabric::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(absl::Span<std::byte> bytes,
                                                                 uint32_t access) override {
    auto made = ForwardingDevice::Register(bytes, access);
    if (!made.ok()) return made;
    return std::make_unique<Region>(*std::move(made), regions);
  }

  std::atomic<int> regions = 0;

 private:
  class Region final : public fabric::MemoryRegion {
   public:
    Region(std::unique_ptr<fabric::MemoryRegion> region, std::atomic<int>& regions)
        : region_(std::move(region)), regions_(regions) {
      ++regions_;
    }
    ~Region() override { --regions_; }
    absl::Span<std::byte> bytes() const override { return region_->bytes(); }
    uint32_t lkey() const override { return region_->lkey(); }
    fabric::RemoteAddress remote() const override { return region_->remote(); }

   private:
    const std::unique_ptr<fabric::MemoryRegion> region_;
    std::atomic<int>& regions_;
  };
};

}  // namespace skein::service

#endif  // SKEIN_TESTS_UNIT_SERVICE_COUNTED_DEVICE_H_
