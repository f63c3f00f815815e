// The room of each link: the threads that wait for what comes by it share the polling, whatever they wait for.
#ifndef SKEIN_CORE_LINK_LINK_ROOMS_H_
#define SKEIN_CORE_LINK_LINK_ROOMS_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "core/link/link_room.h"

namespace skein::link {

// Any thread.
class LinkRooms {
 public:
  explicit LinkRooms(const wait::SpinPolicy& policy, wait::Caretaker* caretaker = nullptr)
      : policy_(policy), caretaker_(caretaker) {}

  std::shared_ptr<LinkRoom> Of(const std::shared_ptr<Link>& link) {
    MutexLock lock(&mu_);
    absl::erase_if(rooms_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<LinkRoom>& known = rooms_[link.get()];
    std::shared_ptr<LinkRoom> room = known.lock();
    if (room == nullptr) {
      room = std::make_shared<LinkRoom>(link, policy_, caretaker_);
      known = room;
    }
    return room;
  }

 private:
  const wait::SpinPolicy policy_;
  wait::Caretaker* const caretaker_;
  Mutex mu_;
  // A room keeps its link: no other link has that address meanwhile.
  absl::flat_hash_map<const Link*, std::weak_ptr<LinkRoom>> rooms_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LINK_ROOMS_H_
