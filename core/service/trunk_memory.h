// Which memory of this host's processes is registered for a trunk, and which of it the other skeind has been lent.
//
// Memory is registered with no access of the peer's for requests of its own process, and with the region's access once
// it is lent.
#ifndef SKEIN_CORE_SERVICE_TRUNK_MEMORY_H_
#define SKEIN_CORE_SERVICE_TRUNK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/service/region.h"

namespace skein::service {

// skeind's thread.
class TrunkMemory {
 public:
  using Place = std::pair<const Region*, uint32_t>;  // and with which access
  using Here = std::shared_ptr<Region::OnTrunk>;
  using Then = std::function<void(const Here& here)>;
  // To a virtual queue pair, by the rkey that its process's peer uses.
  struct Lent {
    uint32_t number = 0;
    uint32_t rkey = 0;
    friend bool operator==(const Lent&, const Lent&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Lent& lent) {
      return H::combine(std::move(h), lent.number, lent.rkey);
    }
  };

  // Null: it is not registered, or not yet.
  Here Find(const Place& place) const;
  // For a virtual queue pair, until it is registered, or that has failed (null). How many wait now; `is_first`: nobody
  // has registered it yet.
  size_t Await(const Place& place, uint32_t number, Then then, bool& is_first);
  // Nobody waits: the process has let go of it meanwhile, or the trunk has ended.
  void Registered(const Place& place, const Here& here);

  void Lend(const Lent& to, const Here& what) { lent_[to] = what; }
  bool IsLent(const Lent& to) const { return lent_.contains(to); }
  void TakeBack(const Lent& to) { lent_.erase(to); }
  // A virtual queue pair is gone: nothing is lent to it, and it waits for nothing.
  void Forget(uint32_t number);
  std::vector<Lent> LentOf(const Region& region) const;

  // Its process has let go of it.
  void Forget(const Region& region);
  void Clear();

 private:
  absl::flat_hash_map<Lent, Here> lent_;
  // As long as lent_, a queue pair or a request has it.
  absl::flat_hash_map<Place, std::weak_ptr<Region::OnTrunk>> here_;
  // Each with the number of the queue pair that waits. The list may be empty while the memory is being registered.
  absl::flat_hash_map<Place, std::vector<std::pair<uint32_t, Then>>> awaited_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_MEMORY_H_
