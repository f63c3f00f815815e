// Simulated time: what happens next, and when. Events of one instant run in the order they were added.
#ifndef SKEIN_CORE_FABRIC_SIM_EVENT_QUEUE_H_
#define SKEIN_CORE_FABRIC_SIM_EVENT_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace skein::fabric::sim {

// Not thread-safe: used under World::mu().
class EventQueue {
 public:
  struct Event {
    absl::AnyInvocable<void()> action;
    bool external = false;  // the user's: runs without the world's mutex
  };

  absl::Time now() const { return now_; }
  size_t size() const { return events_.size(); }
  absl::Time next_time() const { return events_.empty() ? absl::InfiniteFuture() : events_.begin()->first.first; }

  // A time that has passed means now.
  void At(absl::Time when, absl::AnyInvocable<void()> action, bool external = false) {
    events_.try_emplace({std::max(when, now_), ++sequence_}, Event{std::move(action), external});
  }
  void After(absl::Duration delay, absl::AnyInvocable<void()> action) { At(now_ + delay, std::move(action)); }

  // Takes the next event out and moves time to it. There must be one.
  Event PopNext() {
    auto next = events_.begin();
    now_ = next->first.first;
    Event event = std::move(next->second);
    events_.erase(next);
    return event;
  }
  // Lets time pass in which nothing happens.
  void AdvanceTo(absl::Time time) { now_ = std::max(now_, time); }

 private:
  absl::btree_map<std::pair<absl::Time, uint64_t>, Event> events_;
  absl::Time now_ = absl::UnixEpoch();
  uint64_t sequence_ = 0;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_EVENT_QUEUE_H_
