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

namespace skein::service {

// The last owner deregisters it: the session, until the process forgets it; each request under way; and the trunks
// whose other end has been told where it is (Trunk::Lend), until that end says that it will not write there any more.
class Region {
 public:
  Region(UserBudget::Share share, UserBudget::Share mapped, Mapping mapping,
         std::unique_ptr<fabric::MemoryRegion> registered, uint64_t base, uint32_t access, uint32_t rkey)
      : share_(std::move(share)),
        mapped_(std::move(mapped)),
        mapping_(std::move(mapping)),
        registered_(std::move(registered)),
        base_(base),
        access_(access),
        rkey_(rkey) {}

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
  const UserBudget::Share share_;
  const UserBudget::Share mapped_;
  const Mapping mapping_;
  const std::unique_ptr<fabric::MemoryRegion> registered_;  // goes before the mapping
  const uint64_t base_;
  const uint32_t access_;
  const uint32_t rkey_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_REGION_H_
