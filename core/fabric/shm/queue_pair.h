// One end of a connection between two processes.
//
// Requests run in the thread that posts them: a WRITE is a copy into the peer's region, a SEND a copy into the mailbox.
// What cannot run yet (a full mailbox, a region not mapped yet) waits, with its payload copied, and is run by whoever
// polls. Receives and the peer's answers are looked for by Progress(), which the completion queues' Poll calls.
//
// Of an end that shares its receives, a WRITE_WITH_IMM cannot know beforehand whether there is one for it: it lands,
// and waits, as a SEND does, for its record to be taken.
//
// Locks: receive_mu_ guards the receiving half, send_mu_ the sending half, socket_mu_ who reads the socket. Order:
// socket_mu_, receive_mu_ (BecomeReady alone holds it with the next), send_mu_, error_mu_; the rendezvous' lock may be
// taken under the last, a shared receive queue's under receive_mu_. Failing happens in two steps, because it concerns
// both halves: Fail() records it anywhere, Flush() completes what is outstanding once no lock is held.
#ifndef SKEIN_CORE_FABRIC_SHM_QUEUE_PAIR_H_
#define SKEIN_CORE_FABRIC_SHM_QUEUE_PAIR_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/fabric/shm/completion_queue.h"
#include "core/fabric/shm/device_core.h"
#include "core/fabric/shm/doorbell.h"
#include "core/fabric/shm/imports.h"
#include "core/fabric/shm/mailbox.h"
#include "core/fabric/shm/regions.h"
#include "core/fabric/shm/rendezvous.h"
#include "core/fabric/shm/shared_receive_queue.h"

namespace skein::fabric::shm {

inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 40;

class ShmQueuePair final : public QueuePair {
 public:
  ShmQueuePair(std::shared_ptr<DeviceCore> core, const QueuePairOptions& options);
  ~ShmQueuePair() override;

  absl::StatusOr<std::string> Offer() override;
  absl::StatusOr<std::string> Accept(absl::string_view offer) override;
  absl::Status Complete(absl::string_view answer) override;
  absl::Status PostSend(absl::Span<const SendRequest> batch) override;
  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override;
  QueuePairState state() const override { return state_.load(std::memory_order_acquire); }
  // The completion queues' descriptors tell of the peer's end as well.
  int event_fd() const override { return -1; }
  QueuePairState RefreshState() override;
  absl::Status error() const override;
  void Close() override;

  // For the completion queues.
  void Progress();
  void Arm(const ShmCompletionQueue* queue, WakeFor what);
  // True: the peer has rung since, or is about to.
  bool Disarm(const ShmCompletionQueue* queue);
  // Reads what is in the doorbell and in the socket. `acknowledger` is the queue whose sleeper is awake already; every
  // other sleeper that a doorbell taken out here was meant for is woken. Not `all`: the socket may be left for later,
  // if it is known to have no message.
  void DrainSocket(ShmCompletionQueue* acknowledger, bool all);
  void Reaped(uint64_t sequence);
  // For the shared receive queue: there is something for what waits in the mailbox.
  void SharedReceiveCame() { receive_queue_->WakeIfArmed(); }

 private:
  enum class Step { kDone, kAwaitsHead, kWait, kFailed };
  struct Entry {
    uint64_t sequence = 0;
    SendRequest request;  // but for `local`:
    absl::InlinedVector<Segment, 2> local;
    std::vector<std::byte> payload;  // of a request that waits; `local` then points here
    Step step = Step::kWait;
    bool written = false;  // a WRITE_WITH_IMM whose bytes are there, but not yet its record
    size_t sent = 0;       // of a SEND, bytes in the mailbox
    uint64_t end = 0;      // of what awaits the head, the mailbox position after it
    size_t bytes = 0;      // for the completion
  };

  // queue_pair.cc
  // The error, which came of this process's kernel or is noted nowhere. `other_user`: see Refusals.
  absl::Status Noted(const absl::Status& error, std::optional<uid_t> other_user);
  absl::Status Connect(int side, Mapping control, Meeting meeting);
  absl::Status WatchAtBoth(int fd);
  absl::Status BecomeReady(int side, Mapping control, Meeting meeting, NewDoorbell& doorbell);
  void Fail(CompletionStatus first_send, absl::Status error, SideState tell = SideState::kClosed);
  // The kernel has refused this process a call or a descriptor, and would do so again at the next connection, with any
  // peer or with one of the peer's user.
  void FailByErrno(const absl::Status& error);
  void FailAfterPeer();
  void Flush();
  bool ready() const { return state() == QueuePairState::kReady; }
  absl::Status NotReady() const;
  void Ring();
  void Tell(const SideMessage& message, int fd = -1);
  void HandleSideMessage(Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mu_);
  void HandleGrant(const SideMessage& grant, Message& message);
  void HandleWant(const SideMessage& want) ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mu_);
  void HandleDoorbell(Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mu_);

  // requester.cc
  void Start(const SendRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  Step Execute(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  Step ExecuteSend(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  Step ExecuteWrite(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  Step ExecuteRead(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  Step ExecuteAtomic(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  Step Reach(const Entry& entry, uint32_t access, uint64_t size, const Import*& import)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  static void Stage(Entry& entry);
  bool RunWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  void Retire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  void AwaitHead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  bool Soliciting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  void RingIfArmed(bool solicited);
  void Complete(const Entry& entry, CompletionStatus status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mu_);
  void ProgressSends();
  void FlushSends();

  // responder.cc
  void ProgressReceives();
  void RingIfWaitsForHead();
  bool ReceiveOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(receive_mu_);
  bool FindReceive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(receive_mu_);
  bool ReceiveFragment(const Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(receive_mu_);
  void ReportReceive(const Record& record, CompletionStatus status, size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(receive_mu_);
  void FlushReceives();

  const std::shared_ptr<DeviceCore> core_;
  ShmCompletionQueue* const send_queue_;
  ShmCompletionQueue* const receive_queue_;
  const uint32_t max_send_;
  const uint32_t max_receive_;
  ShmSharedReceiveQueue* const shared_;  // nullptr: receives are its own
  const bool reads_registered_;

  // Written by BecomeReady under both halves' locks, before state_ becomes kReady (release); constant afterwards.
  Mapping control_;
  Side* mine_ = nullptr;
  Side* theirs_ = nullptr;
  UniqueFd socket_;
  UniqueFd doorbell_;   // the peer rings here, once it has it; invalid: this process had no descriptors for one
  pid_t peer_pid_ = 0;  // 0: it is in a pid namespace that this process does not see
  // The peer's, if not this process's own: it is given no pipe, whose lock it could hold, its process's memory is not
  // read, what it has in its hands is closed by threads that nobody waits for, and no refusal that comes with it
  // counts for others.
  std::optional<uid_t> other_user_;

  std::atomic<QueuePairState> state_ = QueuePairState::kReset;  // release by Connect and Fail; acquire by state()
  std::atomic<bool> peer_gone_ = false;                         // release by who saw it; acquire by Progress
  std::atomic<int> rings_at_ = -1;  // `peers_doorbell_`, which then stays; release by who got it; acquire by Ring
  std::atomic<uint64_t> seen_socket_messages_ = 0;  // relaxed: a stale value costs one more look at the socket
  std::atomic<uint64_t> last_reaped_ = 0;           // relaxed: a stale value refuses a post that had room
  std::atomic<uint32_t> receives_used_ = 0;         // relaxed, likewise
  // No sleeper of the send queue wants to hear that a record was taken. Relaxed: written under send_mu_ by Arm alone.
  std::atomic<bool> quiet_ = false;
  std::atomic<bool> unfinished_sends_ = false;  // relaxed hint; who adds entries looks after them once itself

  mutable Mutex error_mu_;
  absl::Status error_ ABSL_GUARDED_BY(error_mu_);
  CompletionStatus first_send_ ABSL_GUARDED_BY(error_mu_) = CompletionStatus::kFlushed;
  std::optional<Token> offered_ ABSL_GUARDED_BY(error_mu_);

  Mutex socket_mu_;
  UniqueFd peers_doorbell_ ABSL_GUARDED_BY(socket_mu_);
  int refusals_ ABSL_GUARDED_BY(socket_mu_) = 0;  // of regions that the peer has asked for

  Mutex send_mu_ ABSL_ACQUIRED_AFTER(socket_mu_);
  std::optional<MailboxProducer> producer_ ABSL_GUARDED_BY(send_mu_);
  Imports imports_ ABSL_GUARDED_BY(send_mu_);
  std::deque<Entry> entries_ ABSL_GUARDED_BY(send_mu_);  // posted and not yet completed, in order
  size_t waiting_ ABSL_GUARDED_BY(send_mu_) = 0;         // of these, not run yet: the last ones
  size_t sends_out_ ABSL_GUARDED_BY(send_mu_) = 0;       // of these, those whose record the peer has yet to take
  uint64_t last_posted_ ABSL_GUARDED_BY(send_mu_) = 0;
  uint64_t receives_met_ ABSL_GUARDED_BY(send_mu_) = 0;  // messages sent that each take one of the peer's receives

  Mutex receive_mu_;
  std::optional<MailboxConsumer> consumer_ ABSL_GUARDED_BY(receive_mu_);
  std::deque<ReceiveRequest> receives_ ABSL_GUARDED_BY(receive_mu_);  // shared: the one that is being filled
  size_t assembled_ ABSL_GUARDED_BY(receive_mu_) = 0;  // bytes of a fragmented SEND in the first receive's buffer
};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_QUEUE_PAIR_H_
