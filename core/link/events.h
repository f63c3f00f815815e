// What threads in the sender's place tell the poller: one mask, so that a turn without news is one load.
//
//   a sender, Tell (release)  --->  told_  ---the poller, one exchange (acquire)--->  due_, until the poller sees to it
//
// A poller that has been in the sender's place, or has acquired a later event, sees all that were told there before.
// Tested in all interleavings by tests/unit/link/events_test.cc.
#ifndef SKEIN_CORE_LINK_EVENTS_H_
#define SKEIN_CORE_LINK_EVENTS_H_

#include <atomic>
#include <cstdint>

#include "core/wait/atomics.h"

namespace skein::link {

template <class Policy>
class BasicEvents {
 public:
  enum Event : uint32_t {
    kWaits = 1,  // something waits to be sent, or for that: upkeep may help at once
    kSpace = 2,  // ports wait for space: until there are none
    kFlush = 4,  // a flush has said no: until somebody tells
    kUpkept = 8  // the upkeep that the poller has left is done
  };
  // By a thread in the sender's place.
  void Tell(uint32_t events) { told_.fetch_or(events, std::memory_order_release); }

  // The poller's, as are the next two. TakeDue: the poller has seen to it.
  bool IsDue(uint32_t events) {
    if (told_.load(std::memory_order_relaxed) != 0) due_ |= told_.exchange(0, std::memory_order_acquire);
    return (due_ & events) != 0;
  }
  bool TakeDue(uint32_t events) {
    if (!IsDue(events)) return false;
    due_ &= ~events;
    return true;
  }
  // Whether the poller has been told anything that is not seen to yet.
  bool any() const { return (due_ | told_.load(std::memory_order_relaxed)) != 0; }

 private:
  typename Policy::template Atomic<uint32_t> told_{0};
  uint32_t due_ = 0;  // the poller's
};

using Events = BasicEvents<wait::SystemAtomics>;

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_EVENTS_H_
