// A batch of receives as a device takes it.
#ifndef SKEIN_CORE_FABRIC_VERBS_RECEIVE_WORK_H_
#define SKEIN_CORE_FABRIC_VERBS_RECEIVE_WORK_H_

#include <infiniband/verbs.h>

#include <vector>

#include "absl/status/statusor.h"
#include "core/fabric/fabric.h"
#include "core/fabric/requests.h"
#include "core/fabric/verbs/port.h"

namespace skein::fabric::verbs {

struct ReceiveWork {
  // All but the ids. INVALID_ARGUMENT: the contract or the device does not allow one of them.
  static absl::StatusOr<ReceiveWork> Of(const Port& port, absl::Span<const ReceiveRequest> batch) {
    ReceiveWork work;
    work.segments.reserve(batch.size());
    for (const ReceiveRequest& request : batch) {
      if (absl::Status status = CheckSegment(request.buffer); !status.ok()) return status;
      const Segment& buffer = request.buffer;
      if (buffer.size > port.max_message_bytes) return absl::InvalidArgumentError("a buffer that is too long");
      ibv_recv_wr one = {};
      // One of size 0 is left out: some devices take that for 2 GiB.
      if (buffer.size > 0) {
        work.segments.push_back(
            {reinterpret_cast<uint64_t>(buffer.data), static_cast<uint32_t>(buffer.size), buffer.lkey});
        one.sg_list = &work.segments.back();
        one.num_sge = 1;
      }
      work.requests.push_back(one);
    }
    for (size_t i = 0; i + 1 < work.requests.size(); ++i) work.requests[i].next = &work.requests[i + 1];
    return work;
  }
  // How many of the last ones the device has not taken when a post failed and named `first`; as in PostFailed of
  // queue pairs.
  size_t Refused(const ibv_recv_wr* first) const { return first == nullptr ? 0 : &requests.back() - first + 1; }

  std::vector<ibv_sge> segments;  // `requests` point into it
  std::vector<ibv_recv_wr> requests;
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_RECEIVE_WORK_H_
