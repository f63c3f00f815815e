// A device's shared receive queue, and which request each of its completions is of: requests have slots, whose numbers
// are the ids that the device sees.
#ifndef SKEIN_CORE_FABRIC_VERBS_SHARED_RECEIVE_QUEUE_H_
#define SKEIN_CORE_FABRIC_VERBS_SHARED_RECEIVE_QUEUE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/port.h"

namespace skein::fabric::verbs {

// Lock: mu_, a leaf; completion queues call in under theirs.
class VerbsSharedReceiveQueue final : public SharedReceiveQueue {
 public:
  static absl::StatusOr<std::unique_ptr<VerbsSharedReceiveQueue>> Create(std::shared_ptr<const Port> port,
                                                                         uint32_t max);
  ~VerbsSharedReceiveQueue() override;

  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override;

  ibv_srq* get() const { return queue_; }
  const Port* port() const { return port_.get(); }
  // From queue pairs, once for each completion: the user's id of the request in this slot, which is free again.
  uint64_t Take(uint32_t slot);

 private:
  VerbsSharedReceiveQueue(std::shared_ptr<const Port> port, uint32_t max, ibv_srq* queue);
  uint32_t Put(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const Port> port_;
  const uint32_t max_;
  ibv_srq* const queue_;

  Mutex mu_;
  std::vector<uint64_t> ids_ ABSL_GUARDED_BY(mu_);   // by slot; of free ones meaningless
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mu_);  // slots
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_SHARED_RECEIVE_QUEUE_H_
