// Memory of a process that skeind has mapped, and has registered with the device: for each trunk on which it is used,
// and until there is one for nobody, so that the process hears if that cannot be.
#ifndef SKEIN_CORE_SERVICE_REGION_H_
#define SKEIN_CORE_SERVICE_REGION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mapping.h"
#include "core/fabric/fabric.h"
#include "core/service/budget.h"
#include "core/service/worker.h"

namespace skein::service {

// Of a large one the worker alone touches what is registered, once there is a domain: so that has no lock.
//
// The last owner deregisters it: the session, until the process forgets it; each request under way; and the trunks
// whose other end has been told where it is (TrunkMemory), until that end says that it will not write there any more.
class Region {
 public:
  // To register or deregister more would hold up skeind's thread for longer than some messages take: the worker does.
  static constexpr uint64_t kMostAtOnce = uint64_t{256} << 10;

  // `worker` outlives it.
  template <typename... Arguments>
  static std::shared_ptr<Region> Create(Worker& worker, Arguments&&... arguments) {
    return Owned(worker, new Region(std::forward<Arguments>(arguments)...));
  }

  // Expires when the memory has been deregistered, and the user's budget has it back.
  std::weak_ptr<const bool> watch() const { return watched_; }

  uint64_t base() const { return base_; }  // as the process numbers it
  uint64_t size() const { return mapping_.size(); }
  uint32_t access() const { return access_; }
  uint32_t rkey() const { return rkey_; }  // by what the process's peers name it
  absl::Span<std::byte> bytes() const { return mapping_.bytes(); }

  // Where that piece is in skeind's own mapping. Null: it is not all in the region.
  std::byte* At(uint64_t address, uint64_t size) const {
    if (address < base_ || address - base_ > mapping_.size() || size > mapping_.size() - (address - base_))
      return nullptr;
    return mapping_.data() + (address - base_);
  }

  // For one trunk's queue pair alone (fabric::Device::ForPeer): its keys are of no use on others.
  class OnTrunk {
   public:
    static std::shared_ptr<OnTrunk> Create(Worker& worker, std::shared_ptr<Region> region) {
      return Owned(worker, new OnTrunk(std::move(region)));
    }
    // Once, before it is used. `domain`: null where the device has none: then what is registered for nobody is for all.
    absl::Status Register(fabric::Device* domain, uint32_t access) {
      if (domain == nullptr) return absl::OkStatus();
      absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> own = domain->Register(region_->bytes(), access);
      if (!own.ok()) return own.status();
      own_ = *std::move(own);
      region_->Deregister();
      return absl::OkStatus();
    }
    const Region& region() const { return *region_; }
    uint32_t lkey() const { return registered().lkey(); }
    fabric::RemoteAddress remote() const { return registered().remote(); }

   private:
    friend class Region;
    explicit OnTrunk(std::shared_ptr<Region> region) : region_(std::move(region)) {}
    const fabric::MemoryRegion& registered() const { return own_ != nullptr ? *own_ : *region_->registered_; }
    uint64_t size() const { return region_->size(); }
    void Deregister() { own_ = nullptr; }

    const std::shared_ptr<Region> region_;
    std::unique_ptr<fabric::MemoryRegion> own_;  // goes before the region's mapping
  };

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

  template <typename Registered>
  static std::shared_ptr<Registered> Owned(Worker& worker, Registered* made) {
    return {made, [&worker](Registered* last) {
              if (last->size() <= kMostAtOnce) return delete last;
              worker.Do([last]() -> Worker::Then {
                last->Deregister();
                return [last] { delete last; };
              });
            }};
  }
  void Deregister() { registered_ = nullptr; }

  const std::shared_ptr<const bool> watched_ = std::make_shared<const bool>(true);
  const UserBudget::Share share_;
  const UserBudget::Share mapped_;
  const Mapping mapping_;
  std::unique_ptr<fabric::MemoryRegion> registered_;  // for nobody; goes before the mapping
  const uint64_t base_;
  const uint32_t access_;
  const uint32_t rkey_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_REGION_H_
