// Memory that a device is asked for, counted while it is there.
#ifndef SKEIN_TESTS_SUPPORT_COUNTED_REGION_H_
#define SKEIN_TESTS_SUPPORT_COUNTED_REGION_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "core/fabric/fabric.h"

namespace skein::fabric {

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

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_COUNTED_REGION_H_
