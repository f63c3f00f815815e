// One end of a virtual queue pair: requests go to skeind, which puts them on the queue pair that it shares between all
// processes of the two hosts.
#ifndef SKEIN_CORE_FABRIC_SERVICE_QUEUE_PAIR_H_
#define SKEIN_CORE_FABRIC_SERVICE_QUEUE_PAIR_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/mapping.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/fabric/service/completion_queue.h"
#include "core/fabric/service/session.h"
#include "core/fabric/service/shared_queues.h"

namespace skein::fabric::service {

// Receives without buffers: a WRITE_WITH_IMM fills none, and SENDs do not go by way of skeind. So all that is known of
// one is its id, and skeind need not hear of it.
//
// Any number of threads. Lock: mu_, a leaf.
class ServiceReceives final : public SharedReceiveQueue {
 public:
  explicit ServiceReceives(uint32_t most) : most_(most) {}
  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override ABSL_LOCKS_EXCLUDED(mu_);
  // False: none is posted.
  bool Take(uint64_t& id) ABSL_LOCKS_EXCLUDED(mu_);
  uint32_t most() const { return most_; }

 private:
  const uint32_t most_;
  mutable Mutex mu_;
  std::deque<uint64_t> ids_ ABSL_GUARDED_BY(mu_);
};

// Lock: mu_, below its completion queues'.
class ServiceQueuePair final : public QueuePair {
 public:
  static absl::StatusOr<std::unique_ptr<ServiceQueuePair>> Create(std::shared_ptr<Session> session,
                                                                  const QueuePairOptions& options,
                                                                  uint64_t max_message_bytes);
  ~ServiceQueuePair() override;

  absl::StatusOr<std::string> Offer() override;
  absl::StatusOr<std::string> Accept(absl::string_view offer) override;
  absl::Status Complete(absl::string_view answer) override;
  absl::Status PostSend(absl::Span<const SendRequest> batch) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override;
  QueuePairState state() const override;
  QueuePairState RefreshState() override;
  absl::Status error() const override;
  void Close() override;

  // The completion queue's. kNothing: of a request that nobody asked to hear of. kKept: a message that finds no
  // receive; it waits here, so that it holds up no other queue pair's. If a peer sends more of
  // them than there may be receives, this queue pair ends.
  enum class Taken : uint8_t { kYes, kNothing, kKept };
  Taken Completed(const CompletionEntry& entry, Completion& out) ABSL_LOCKS_EXCLUDED(mu_);
  // Behind `out`'s first `count`. False: there are more.
  bool TakeKept(const ServiceCompletionQueue* queue, absl::Span<Completion> out, size_t& count)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Whether there was a post since this was asked last, or a completion is still to come; of the send queue.
  bool IsToBeAskedFor(const ServiceCompletionQueue* queue) ABSL_LOCKS_EXCLUDED(mu_);
  // Whether what is outstanding never completes. A queue pair that this end has closed may not be through yet: skeind
  // has still to hear of that, and reads the memory of requests until then.
  bool through() const;
  // Completes what is outstanding as flushed: requests in the send queue, receives in the receive queue.
  size_t Flush(const ServiceCompletionQueue* queue, absl::Span<Completion> out) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // What a completion says of a request besides what skeind knows.
  struct Posted {
    uint64_t id = 0;
    Opcode opcode = Opcode::kSend;
  };

  ServiceQueuePair(std::shared_ptr<Session> session, const QueuePairOptions& options, uint64_t max_message_bytes,
                   Mapping memory, const Reply& created);
  absl::StatusOr<std::string> Connect(Operation operation, absl::string_view text);
  absl::StatusOr<Submission> Encode(const SendRequest& request) const;
  absl::Status Lay(absl::Span<const SendRequest> batch) ABSL_LOCKS_EXCLUDED(mu_);
  End end() const { return static_cast<End>(submissions_.header().end.load(std::memory_order_acquire)); }

  const std::shared_ptr<Session> session_;
  ServiceCompletionQueue* const send_queue_;
  ServiceCompletionQueue* const receive_queue_;
  const std::unique_ptr<ServiceReceives> own_receives_;  // without a shared receive queue
  ServiceReceives* const receives_;
  const uint64_t max_message_bytes_;
  const uint32_t depth_;
  const Mapping memory_;
  const SubmissionQueue submissions_;
  const uint32_t number_;
  const uint32_t place_;
  std::atomic<bool> connected_ = false;  // release by who connects it, acquire by state()
  std::atomic<bool> closed_ = false;     // by this end: release by Close, acquire by state()
  std::atomic<bool> flooded_ = false;    // by messages without receives: release by who polls, acquire by state()

  mutable Mutex mu_;
  uint64_t published_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t reaped_ ABSL_GUARDED_BY(mu_) = 0;     // requests before this have completed, and whoever polls has heard
  uint64_t told_by_ ABSL_GUARDED_BY(mu_) = 0;    // requests up to the last that is signaled
  uint64_t asked_for_ ABSL_GUARDED_BY(mu_) = 0;  // requests published when the send queue last asked after skeind
  std::vector<Posted> posted_ ABSL_GUARDED_BY(mu_);
  std::deque<Completion> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::fabric::service

#endif  // SKEIN_CORE_FABRIC_SERVICE_QUEUE_PAIR_H_
