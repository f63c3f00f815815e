// One end of a reliable connection of an RDMA device.
//
// The device does the work; here is what the contract adds: each request's own id and opcode come back with its
// completion, unsignaled requests never fill the send queue, the user's limits are exact, and what a device that is
// gone will never complete is flushed.
//
// Locks: send_mu_ and receive_mu_ guard what is outstanding, state_mu_ how the connection came and went; none is taken
// under another, but for state_mu_ under any. Completion queues call in under their lock.
#ifndef SKEIN_CORE_FABRIC_VERBS_QUEUE_PAIR_H_
#define SKEIN_CORE_FABRIC_VERBS_QUEUE_PAIR_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/completion_queue.h"
#include "core/fabric/verbs/port.h"
#include "core/fabric/verbs/shared_receive_queue.h"

namespace skein::fabric::verbs {

class VerbsQueuePair final : public QueuePair, private EventSink {
 public:
  static absl::StatusOr<std::unique_ptr<VerbsQueuePair>> Create(std::shared_ptr<const Port> port,
                                                                const QueuePairOptions& options,
                                                                VerbsCompletionQueue* send_queue,
                                                                VerbsCompletionQueue* receive_queue);
  ~VerbsQueuePair() override;

  absl::StatusOr<std::string> Offer() override;
  absl::StatusOr<std::string> Accept(absl::string_view offer) override;
  absl::Status Complete(absl::string_view answer) override;
  absl::Status PostSend(absl::Span<const SendRequest> batch) override;
  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override;
  QueuePairState state() const override { return state_.load(std::memory_order_acquire); }
  // A reliable connection says nothing while nothing is sent: this sends the peer's device an empty WRITE, at most one
  // at a time, whose failure is the answer.
  QueuePairState RefreshState() override;
  absl::Status error() const override;
  void Close() override;

  // For the completion queues, under their lock: appends what is to be reported.
  void Completed(const WorkId& id, const ibv_wc& work, std::deque<Completion>& out);
  void FlushAfterDeviceLoss(const CompletionQueue* queue, std::deque<Completion>& out);

 private:
  struct Outstanding {
    uint64_t id = 0;
    Opcode opcode = Opcode::kSend;
    bool reported = false;  // on success; failures always are, but for the question whether the peer is there
    bool question = false;
    size_t bytes = 0;
  };
  // What the device has been given and Poll has not told of yet, oldest first.
  struct Pending {
    std::deque<Outstanding> requests;
    uint32_t first = 0;  // sequence of requests[0]
    uint32_t next() const { return first + static_cast<uint32_t>(requests.size()); }
  };

  VerbsQueuePair(std::shared_ptr<const Port> port, const QueuePairOptions& options, VerbsCompletionQueue* send_queue,
                 VerbsCompletionQueue* receive_queue, ibv_qp* queue_pair);

  bool ready() const { return state() == QueuePairState::kReady; }
  absl::Status NotReady() const;
  Address OwnAddress() const;
  absl::Status Connect(const Address& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_mu_);
  void Fail(absl::Status why);
  void OnDeviceEvent(const absl::Status& why, bool completes) override;
  bool LookForProgress() override;

  absl::Status CheckSend(const SendRequest& request) const;
  bool Ask() ABSL_LOCKS_EXCLUDED(send_mu_);
  void AskOrGiveUp() ABSL_LOCKS_EXCLUDED(send_mu_);
  void AwaitProgress() const;
  absl::Status PostRaw(absl::Span<const SendRequest> batch, bool question) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  // `refused`: how many of the last ones the device has not taken. (Soft-RoCE names none when it has queued them all,
  // and only could not tell the kernel.)
  absl::Status PostFailed(Pending& pending, size_t refused, const absl::Status& why);
  void CompletedSend(uint32_t sequence, const ibv_wc& work, std::deque<Completion>& out);
  std::optional<Outstanding> TakeReceive(uint32_t sequence);
  void CompletedReceive(uint32_t sequence, const ibv_wc& work, std::deque<Completion>& out);
  Completion Report(const Outstanding& request, CompletionStatus status);
  void FlushAll(Pending& pending, std::deque<Completion>& out);

  const std::shared_ptr<const Port> port_;
  VerbsCompletionQueue* const send_queue_;
  VerbsCompletionQueue* const receive_queue_;
  const uint32_t max_send_;
  const uint32_t max_receive_;
  VerbsSharedReceiveQueue* const shared_;  // nullptr: receives are its own
  const bool flushes_;
  const absl::Duration longest_answer_;  // infinite: a question may wait behind what waits for a receive
  ibv_qp* const queue_pair_;
  uint32_t first_packet_ = 0;  // sequence number; constant
  uint32_t send_member_ = 0;
  uint32_t receive_member_ = 0;

  std::atomic<QueuePairState> state_ = QueuePairState::kReset;  // release by Connect and Fail; acquire by state()
  std::atomic<bool> device_will_not_ = false;  // complete what is outstanding; release by Fail, acquire by the queues

  mutable Mutex state_mu_;
  absl::Status error_ ABSL_GUARDED_BY(state_mu_);
  std::optional<uint64_t> offered_ ABSL_GUARDED_BY(state_mu_);  // the token of the offer that is out

  Mutex send_mu_ ABSL_ACQUIRED_BEFORE(state_mu_);
  Pending sends_ ABSL_GUARDED_BY(send_mu_);
  uint32_t unsignaled_ ABSL_GUARDED_BY(send_mu_) = 0;  // since the last that completes
  bool asking_ ABSL_GUARDED_BY(send_mu_) = false;      // a question is among `sends_`
  absl::Time asked_at_ ABSL_GUARDED_BY(send_mu_);      // the last one; of SteadyNow()
  uint32_t last_look_ ABSL_GUARDED_BY(send_mu_) = 0;   // `sends_.first` when somebody last looked for progress

  Mutex receive_mu_ ABSL_ACQUIRED_BEFORE(state_mu_);
  Pending receives_ ABSL_GUARDED_BY(receive_mu_);
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_QUEUE_PAIR_H_
