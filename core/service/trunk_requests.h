// What a trunk has posted on its queue pair, in order, and what waits for the end of it.
//
// A device tells of few requests that they have ended, and with each of those of all before it.
#ifndef SKEIN_CORE_SERVICE_TRUNK_REQUESTS_H_
#define SKEIN_CORE_SERVICE_TRUNK_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/fabric/fabric.h"
#include "core/service/region.h"
#include "core/service/shared_queue_pair.h"
#include "core/service/virtual_queue_pair.h"

namespace skein::service {

// skeind's thread.
class TrunkRequests {
 public:
  // Under way together: more would gain nothing, and others wait for it.
  static constexpr uint64_t kBytes = 2 << 20;

  struct Request {
    std::shared_ptr<VirtualQueuePair> queue_pair;  // null: a question of the trunk's own
    std::shared_ptr<Region::OnTrunk> region;       // whose bytes the device reads or writes
    uint64_t position = 0;
    uint32_t length = 0;
    fabric::Opcode opcode = fabric::Opcode::kWrite;
    bool tells = false;
  };

  const std::deque<Request>& under_way() const { return under_way_; }
  bool full() const { return under_way_.size() >= SharedQueuePair::kSends; }
  // The device will tell of one of those that are under way, or of the last.
  bool one_tells() const { return told_by_ > ended_; }
  bool last_tells() const { return told_by_ == added_; }

  // It goes with the next Post.
  void Add(const fabric::SendRequest& request, fabric::Segment segment, Request&& under_way);
  bool has_unposted() const { return !batch_.empty(); }
  absl::Status Post(fabric::QueuePair& queue_pair);
  // The device has told of the end of request `id`: of that one and those before it, the oldest. False: all are taken.
  bool TakeEnded(uint64_t id, Request& ended) {
    if (ended_ >= id || under_way_.empty()) return false;
    ended = std::move(under_way_.front());
    under_way_.pop_front();
    ++ended_;
    return true;
  }

  // Once all that are under way now have ended: at once, if there are none.
  void Later(std::function<void()> what);
  // Does what nothing is under way for any more.
  void DoWhatWaited();
  bool something_waits() const { return !later_.empty(); }

  void Clear();

 private:
  std::deque<Request> under_way_;
  uint64_t added_ = 0;         // requests, since the start
  uint64_t ended_ = 0;         // of them
  uint64_t told_by_ = 0;       // the last one of whose end the device will tell
  uint64_t silent_bytes_ = 0;  // of those since
  std::vector<fabric::SendRequest> batch_;
  std::vector<fabric::Segment> segments_;
  std::deque<std::pair<uint64_t, std::function<void()>>> later_;  // after so many have ended
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_REQUESTS_H_
