// Memory of a process that skeind has mapped, and has registered with the device.
#ifndef SKEIN_CORE_SERVICE_REGION_H_
#define SKEIN_CORE_SERVICE_REGION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/mapping.h"
#include "core/fabric/fabric.h"
#include "core/service/budget.h"
#include "core/service/worker.h"

namespace skein::service {

// The last owner deregisters it: the session, until the process forgets it; each request under way; and the trunks
// whose other end has been told where it is (Trunk::Lend), until that end says that it will not write there any more.
class Region {
 public:
  // To register or deregister more would hold up skeind's thread for longer than some messages take.
  static constexpr uint64_t kMostAtOnce = uint64_t{256} << 10;

  // `worker`, which outlives it, deregisters what is large.
  template <typename... Arguments>
  static std::shared_ptr<Region> Create(Worker& worker, Arguments&&... arguments) {
    return {new Region(std::forward<Arguments>(arguments)...), [&worker](Region* region) {
              if (region->size() <= kMostAtOnce) return delete region;
              worker.Do([region]() -> Worker::Then {
                region->registered_ = nullptr;
                return [region] { delete region; };
              });
            }};
  }

  // Expires when the memory has been deregistered, and the user's budget has it back.
  std::weak_ptr<const bool> watch() const { return watched_; }

  uint64_t base() const { return base_; }  // as the process numbers it
  uint64_t size() const { return mapping_.size(); }
  uint32_t access() const { return access_; }
  uint32_t rkey() const { return rkey_; }  // by what the process's peers name it
  fabric::RemoteAddress remote() const { return registered_->remote(); }

  // Where that piece is in skeind's own mapping. Null: it is not all in the region.
  std::byte* At(uint64_t address, uint64_t size) const {
    if (address < base_ || address - base_ > mapping_.size() || size > mapping_.size() - (address - base_))
      return nullptr;
    return mapping_.data() + (address - base_);
  }
  uint32_t lkey() const { return registered_->lkey(); }

 private:
  Region(UserBudget::Share share, UserBudget::Share mapped, Mapping mapping,
         std::unique_ptr<fabric::MemoryRegion> registered, uint64_t base, uint32_t access, uint32_t rkey)
      : share_(std::move(share)),
        mapped_(std::move(mapped)),
        mapping_(std::move(mapping)),
        registered_(std::move(registered)),
        base_(base),
        access_(access),
        rkey_(rkey) {}

  const std::shared_ptr<const bool> watched_ = std::make_shared<const bool>(true);
  const UserBudget::Share share_;
  const UserBudget::Share mapped_;
  const Mapping mapping_;
  std::unique_ptr<fabric::MemoryRegion> registered_;  // goes before the mapping
  const uint64_t base_;
  const uint32_t access_;
  const uint32_t rkey_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_REGION_H_
