// What the two ends' requests on the fabric have in common.
#ifndef SKEIN_CORE_DURABLE_FLUSH_REQUESTS_H_
#define SKEIN_CORE_DURABLE_FLUSH_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/fabric/fabric.h"

namespace skein::durable {

// After so many polls that brought nothing the connection is asked how it is.
inline constexpr uint32_t kPollsToRefresh = 256;

// A batch for one doorbell; each request has one segment.
class RequestBatch {
 public:
  explicit RequestBatch(size_t most) {
    segments_.reserve(most);  // requests point into it
    requests_.reserve(most);
  }
  // Good until the next Add.
  fabric::SendRequest& Add(fabric::Opcode opcode, uint64_t id, const fabric::Segment& local,
                           const fabric::RemoteAddress& remote = {}) {
    segments_.push_back(local);
    fabric::SendRequest& request = requests_.emplace_back();
    request.id = id;
    request.opcode = opcode;
    request.local = {&segments_.back(), 1};
    request.remote = remote;
    request.signaled = false;
    return request;
  }
  bool empty() const { return requests_.empty(); }
  size_t size() const { return requests_.size(); }
  fabric::SendRequest& back() { return requests_.back(); }
  absl::Status PostOn(fabric::QueuePair& queue_pair) const { return queue_pair.PostSend(requests_); }

 private:
  std::vector<fabric::Segment> segments_;
  std::vector<fabric::SendRequest> requests_;
};

inline fabric::Segment SegmentOf(const fabric::MemoryRegion& region, uint64_t offset, size_t size) {
  return {region.bytes().data() + offset, size, region.lkey()};
}
inline fabric::RemoteAddress After(fabric::RemoteAddress address, uint64_t offset) {
  address.address += offset;
  return address;
}

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_REQUESTS_H_
