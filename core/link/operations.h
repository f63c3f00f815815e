// One-sided operations of a link's threads, posted together on its channel, or executed here; see memory_operation.h.
#ifndef SKEIN_CORE_LINK_OPERATIONS_H_
#define SKEIN_CORE_LINK_OPERATIONS_H_

#include "absl/status/status.h"
#include "core/channel/memory_operation.h"
#include "core/link/send_queue.h"

namespace skein::link {

using channel::MemoryOperation;
using channel::MemoryOperations;

// Any thread.
class Operations {
 public:
  // Of that queue's channel, which it outlives.
  explicit Operations(SendQueue& queue) : queue_(queue) {}

  // Executes it here, or posts it with those of other threads. Gives operation.posted: OnDone follows, or has been
  // called, if that is OK.
  absl::Status Operate(MemoryOperation& operation);
  // For the channel, which tells them of their completions.
  MemoryOperations& under_way() { return under_way_; }

 private:
  absl::Status Execute(MemoryOperation& operation);
  void Post(coalesce::Batch<MemoryOperation>& batch, const absl::Status& error);

  SendQueue& queue_;
  MemoryOperations under_way_;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_OPERATIONS_H_
