// Receives that several queue pairs take from, each when a message has come and not before.
#ifndef SKEIN_CORE_FABRIC_SHM_SHARED_RECEIVE_QUEUE_H_
#define SKEIN_CORE_FABRIC_SHM_SHARED_RECEIVE_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"

namespace skein::fabric::shm {

struct DeviceCore;
class ShmQueuePair;

// Lock: mu_, under a queue pair's receive_mu_; under it, a completion queue's ready_mu_.
class ShmSharedReceiveQueue final : public SharedReceiveQueue {
 public:
  ShmSharedReceiveQueue(std::shared_ptr<DeviceCore> core, uint32_t max) : core_(std::move(core)), max_(max) {}

  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override;

  const DeviceCore* core() const { return core_.get(); }
  // From queue pairs. The oldest receive, for a message of `taker`; if there is none, the sleeper of its receive queue
  // is woken when there is.
  std::optional<ReceiveRequest> Take(ShmQueuePair* taker);
  // The completions of so many have been polled, or will not be needed.
  void Reaped(uint32_t count) { used_.fetch_sub(count, std::memory_order_relaxed); }
  // `taker` is being destroyed.
  void Forget(ShmQueuePair* taker);

 private:
  const std::shared_ptr<DeviceCore> core_;
  const uint32_t max_;
  std::atomic<uint32_t> used_ = 0;  // relaxed: a stale value refuses a post that had room

  Mutex mu_;
  std::deque<ReceiveRequest> posted_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<ShmQueuePair*> waiting_ ABSL_GUARDED_BY(mu_);  // have found nothing
};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_SHARED_RECEIVE_QUEUE_H_
