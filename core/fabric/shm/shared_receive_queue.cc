#include "core/fabric/shm/shared_receive_queue.h"

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"
#include "core/fabric/shm/queue_pair.h"

namespace skein::fabric::shm {

absl::Status ShmSharedReceiveQueue::PostReceive(absl::Span<const ReceiveRequest> batch) {
  for (const ReceiveRequest& request : batch) {
    if (absl::Status status = CheckSegment(request.buffer); !status.ok()) return status;
  }
  if (batch.empty()) return absl::OkStatus();
  MutexLock lock(&mu_);
  if (used_.load(std::memory_order_relaxed) + batch.size() > max_) {
    return absl::ResourceExhaustedError(absl::StrCat("the shared receive queue of ", max_, " requests has no room"));
  }
  used_.fetch_add(static_cast<uint32_t>(batch.size()), std::memory_order_relaxed);
  posted_.insert(posted_.end(), batch.begin(), batch.end());
  // Who polls, comes by itself; and who finds nothing again, says so again.
  for (ShmQueuePair* taker : waiting_) taker->SharedReceiveCame();
  waiting_.clear();
  return absl::OkStatus();
}

std::optional<ReceiveRequest> ShmSharedReceiveQueue::Take(ShmQueuePair* taker) {
  MutexLock lock(&mu_);
  if (posted_.empty()) {
    waiting_.insert(taker);
    return std::nullopt;
  }
  const ReceiveRequest first = posted_.front();
  posted_.pop_front();
  return first;
}

void ShmSharedReceiveQueue::Forget(ShmQueuePair* taker) {
  MutexLock lock(&mu_);
  waiting_.erase(taker);
}

}  // namespace skein::fabric::shm
