// READs, WRITEs and atomics on a peer's memory, on a channel's queue pair: threads that post at the same time combine,
// one doorbell for all (FLOCK 3.5), and each hears of its own completion.
#ifndef SKEIN_CORE_CHANNEL_MEMORY_OPERATION_H_
#define SKEIN_CORE_CHANNEL_MEMORY_OPERATION_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/coalesce/combining_queue.h"
#include "core/fabric/fabric.h"

namespace skein::channel {

// One of them, which belongs to the channel from Post until OnDone.
class MemoryOperation : public coalesce::Entry<MemoryOperation> {
 public:
  virtual ~MemoryOperation() = default;
  // Once, from any thread, perhaps before Post returns; only takes note. The channel does not touch it afterwards.
  virtual void OnDone(fabric::CompletionStatus status) = 0;

  fabric::SendRequest request;  // but for `id`, `local` and `signaled`
  fabric::Segment local;
  absl::Status posted;  // whether OnDone follows
};

// Those of a channel. Lock: mu_, after the sender's and the group's.
class MemoryOperations {
 public:
  // The ids of their requests have this bit, which the numbers of messages never have.
  static constexpr uint64_t kIdBit = uint64_t{1} << 63;
  // Of the channel's requests outstanding; the others are left to messages.
  static constexpr size_t kMost = 48;
  static constexpr size_t kMaxBatch = 16;

  // Gives it an id. RESOURCE_EXHAUSTED: there are kMost already.
  absl::Status Begin(MemoryOperation& operation) ABSL_LOCKS_EXCLUDED(mu_);
  // It was not posted after all.
  void TakeBack(const MemoryOperation& operation) ABSL_LOCKS_EXCLUDED(mu_);
  void OnCompletion(const fabric::Completion& completion) ABSL_LOCKS_EXCLUDED(mu_);
  // No completion comes any more.
  void FlushAll() ABSL_LOCKS_EXCLUDED(mu_);

  coalesce::CombiningQueue<MemoryOperation>& queue() { return queue_; }

 private:
  coalesce::CombiningQueue<MemoryOperation> queue_;
  Mutex mu_;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, MemoryOperation*> under_way_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_MEMORY_OPERATION_H_
