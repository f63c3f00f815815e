// One queue pair of a link, and the two rings beside it: one in each direction.
//
// It may be closed, and opened again as if it were new: a closed lane is a place for streams to find that they are
// elsewhere, and costs no more than this object.
//
// Threads. Sending: any thread, under mu_. Receiving: the owner of the link's polling. Locks: mu_, then the queues'.
#ifndef SKEIN_CORE_LINK_LANE_H_
#define SKEIN_CORE_LINK_LANE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/link/attention.h"
#include "core/link/census.h"
#include "core/link/memory_operation.h"
#include "core/link/outgoing.h"
#include "core/link/port.h"
#include "core/link/queues.h"
#include "core/link/submission.h"
#include "core/ring/ring_reader.h"
#include "core/ring/ring_writer.h"
#include "core/schedule/credits.h"
#include "core/wire/ring_descriptor.h"

namespace skein::link {

// An item that is not a stream's data. It waits for room, if need be.
struct Control {
  std::shared_ptr<Port> port;  // null: the link's own, or of a stream that has ended
  uint32_t stream = 0;
  wire::ItemKind kind = wire::ItemKind::kHead;
  std::string payload;
};

class Lane {
 public:
  struct Options {
    size_t ring_bytes = 0;
    uint64_t max_mirror_bytes = 0;  // of the peer's ring, where the device needs one
    uint16_t number = 0;            // among its link's
    bool may_send = true;           // data, from the beginning
    bool peer_may_send = true;      // the same, of the peer
    bool combines = true;           // what several threads send
  };
  // Closed. `device`, `queues` and `attention` outlive it.
  Lane(fabric::Device& device, Queues& queues, const Attention& attention, const Options& options);
  ~Lane() { Release(); }
  // Not connected yet: no ring, no memory but the queue pair's. By the owner of the polling, as are the next ones.
  absl::Status Open();
  // It is closed: all that it had is given back. Nothing may be under way but heads; what else there is, is lost.
  void Release();
  uint16_t number() const { return options_.number; }

  // The active side: Offer, then Complete with what the passive side's Accept gave. The peer then wants OwnRing.
  absl::StatusOr<std::string> Offer();
  absl::Status Complete(absl::string_view queue_pair_answer, const wire::RingDescriptor& peer_ring);
  // The passive side: Accept, and Meet when the peer has told its ring.
  absl::StatusOr<std::string> Accept(absl::string_view queue_pair_offer);
  absl::Status Meet(const wire::RingDescriptor& peer_ring);
  wire::RingDescriptor OwnRing() const;
  // Whether it knows where to write.
  bool met() const;

  // Takes as much of `buffers` as there is room for, at most `max_bytes`. Less than asked for lack of room: the port is
  // among TakeRoomWaiters when there is some. What concerns a port is sent on the lane that it is on at the time.
  static absl::StatusOr<size_t> Send(Port& port, absl::Span<const ConstBytes> buffers, size_t max_bytes) {
    return Send(Submission(port, buffers, max_bytes));
  }
  // The same of items, none of which is divided; gives their number. None is larger than LargestItem().
  static absl::StatusOr<size_t> SendItems(Port& port, absl::Span<const Gathered> items,
                                          wire::ItemKind kind = wire::ItemKind::kData) {
    return Send(Submission(port, items, kind));
  }
  // Posts it, with those of other threads. Gives operation.posted: OnDone follows if that is OK.
  absl::Status Operate(MemoryOperation& operation);
  // Payload bytes that one message can carry; 0 before it knows where to write.
  size_t LargestItem() const;
  // Sent now or as soon as there is room, after what the port has sent before.
  static void SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload);
  static void ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes);
  // The link's own.
  void SendControl(wire::ItemKind kind, std::string payload, uint32_t stream = 0);
  // Which of the peer's blocks are free (wire::EncodePulled); those that wait are one item. DATA_LOSS if they are more
  // than there can be: the peer announces without end, and does not read the answers.
  absl::Status SendPulled(absl::string_view numbers);
  // The same, but not before something else is sent or the lane is polled.
  void QueueControl(wire::ItemKind kind, std::string payload, uint32_t stream = 0);

  // A stream begins here, or ends on the lane where it is.
  void Place(Port& port);
  static void Remove(Port& port);
  size_t streams() const { return streams_.load(std::memory_order_relaxed); }
  // A stream's load since this was last asked, and where it is.
  static schedule::ThreadLoad TakeLoad(Port& port);
  // The stream goes on on `to` as soon as the peer has read all that it has sent here; it waits for room until then.
  // False, and nothing is done: what was said of it before must go first; then TakeUsableChanged.
  bool Move(const std::shared_ptr<Port>& port, Lane& to);
  // How many percent of the last kMessagesPerThought messages had to carry several senders' bytes; none while there are
  // not so many yet. Then begins anew.
  std::optional<uint32_t> TakeContended();
  static constexpr uint32_t kMessagesPerThought = 256;

  // To be closed (shrinking.cc). Streams are to leave, and none is to come. Then: whether all have left, and the peer
  // has read all that was said here; from then on there are but heads, and if they fail that is nobody's loss. Asks the
  // peer for its head, if need be.
  void Vacate();
  bool IsVacant();

  // This end is awake no longer; or is quiet no longer (attention.h).
  void TellPresence();
  void RingForUnseen();

  // Whether all that was sent has reached the peer's memory. If not, asks that a completion will tell. `tells`: if so,
  // the caller tells all who have heard no. Who merely asks, and hears yes, leaves that to be done.
  bool Flush(bool tells);
  // Flush has said no, and nobody has told since.
  bool flush_wanted() const { return flush_wanted_.load(std::memory_order_relaxed); }
  // Nothing is sent or received any more; what waits is forgotten. The queue pair is closed.
  void Fail(const absl::Status& why);
  // Why nothing can be sent; OK if it can.
  absl::Status error() const;
  void Close();
  bool StillConnected();
  // Why, once connected() is false.
  absl::Status why_disconnected() const;

  // Receiving. The peer's next message, if it has arrived whole; DATA_LOSS if it broke the format. What it says of this
  // lane has been taken note of.
  absl::StatusOr<std::optional<ring::Message>> Next();
  void Pop();
  // Whether a message or its beginning is there, or a breach.
  bool Readable() const;
  // After a number of messages: sends what had to wait, and tells the peer how much was read.
  void AfterReceiving();
  // Who may send again.
  std::vector<std::shared_ptr<Port>> TakeRoomWaiters();
  // Somebody waits for room or for a flush.
  bool awaited() const;
  // Somebody has begun to wait since this was last asked: AfterReceiving may help at once.
  bool TakeWaits() {
    return waits_.load(std::memory_order_relaxed) && waits_.exchange(false, std::memory_order_acquire);
  }
  // The peer's request for more credits, if there is one that has not been taken: its median coalescing degree.
  std::optional<uint16_t> TakeRenewal();
  bool renewal_waits() const { return renewal_.load(std::memory_order_acquire) >= 0; }
  // Says yes or no to it, with the next message or, AfterReceiving, with one of its own.
  // DATA_LOSS when the peer has not waited for the answer before.
  absl::Status AnswerRenewal(bool granted);
  // The peer may use the lane again, or for the first time. Nothing if it may already.
  void Activate();
  // Whether this end may send data here: it knows where to, and the peer gives it credits.
  bool usable() const;
  // Whether that has changed since this was last asked.
  bool TakeUsableChanged() { return usable_changed_.exchange(false, std::memory_order_acquire); }
  // Whether the connection has ended, and this matters. What had arrived before is still to be read, but a peer may
  // keep writing: so no more than a ring of it (spent).
  bool Ends();
  uint64_t head() const { return reader_ == nullptr ? 0 : reader_->head(); }
  uint64_t ring_bytes() const { return options_.ring_bytes; }
  // Since it was made, over all its connections. Any thread.
  Traffic traffic() const;
  // The peer's first item here has come. By the owner of the polling.
  bool Greet() { return !std::exchange(greeted_, true); }
  bool greeted() const { return greeted_; }
  bool spent() const { return last_head_.has_value() && head() >= *last_head_; }

  // By Queues, under its lock. Whether it is of messages that this end has sent.
  bool OnCompletion(const fabric::Completion& completion);
  void Repost(size_t at_least);
  bool connected() const { return !queue_pair_failed_.load(std::memory_order_acquire); }
  void Disconnect() { queue_pair_failed_.store(true, std::memory_order_release); }
  const fabric::QueuePair* queue_pair() const { return queue_pair_.get(); }

 private:
  void Forget();
  absl::Status Note(const wire::MessageHeader& header);
  absl::Status NotePresence(uint16_t flags) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status NoteWord(uint16_t flags) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnImmediate(uint32_t immediate);
  void Breach(absl::string_view what);
  bool breached() const;
  absl::Status AllocateRing();

  // The port's lane, with its lock held.
  static Lane* Lock(Port& port) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Once true, it stays so until the lock is let go.
  bool IsHere(const Port& port) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return port.lane_.load(std::memory_order_acquire) == this;
  }
  void Queue(Control control) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // lane_sender.cc
  using Batch = coalesce::Batch<Submission>;
  static absl::StatusOr<size_t> Send(Submission submission);
  void Lead(Submission& own);
  void SendBatch(Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status SendOne(Batch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t AddData(Batch& batch, size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasControlOf(const Port& port) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Its queue pair may fail, and the link lives on. Also that of one lane more, where this end cannot write yet: until
  // it has written, the peer says no more than hello, and minds by itself whether that arrives.
  bool NothingIsLostWithIt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return vacant_ || (writer_ == nullptr && number() > 0);
  }
  void Leave(const std::shared_ptr<Port>& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountMessage(size_t degree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskForHead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t AddWhole(Submission& submission, size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AddControl(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FlushControl() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FlushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitForRoom(Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  struct Manner {
    bool signaled = false;
    bool silent = false;     // no bell, whoever sleeps
    Batch* batch = nullptr;  // whose data it carries
  };
  absl::Status Write(ring::Reserve reserve, const Manner& manner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WithRoom(absl::FunctionRef<absl::Status()> post) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MustRing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RingIfUnseen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PostOperations(coalesce::Batch<MemoryOperation>& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeaveCopying(Batch& batch, absl::Span<ring::OutItem> items) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void ShareCopying(Batch& batch, absl::Span<ring::OutItem> items);
  absl::Status WriteHead(ring::Reserve reserve, const Manner& manner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasWords() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !words_.empty() || credits_.renewal_due(); }
  void TellWords() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FailLocked(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  fabric::Device& device_;
  Queues& queues_;
  const Attention& attention_;
  const Options options_;
  std::unique_ptr<fabric::MemoryRegion> ring_;
  // Null while closed. It comes and goes by the owner of the polling, under mu_ and while the queues do not know it.
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  uint64_t ring_secret_ = 0;

  std::atomic<uint64_t> reached_ = 0;  // messages known to have reached the peer; relaxed, checked again when it moves
  std::atomic<uint64_t> messages_received_ = 0;  // written by the polling owner; relaxed
  std::atomic<uint64_t> read_head_ = 0;  // release by the poller after it has copied; acquire by senders, who tell it
  std::atomic<bool> queue_pair_failed_ = false;  // release by whoever polls the queues; acquire by the poller
  // The same pair. -1: none; else the degree that the peer's renewal reports.
  std::atomic<int32_t> renewal_ = -1;
  std::atomic<size_t> streams_ = 0;           // relaxed: a count to choose by
  std::atomic<int32_t> contended_ = -1;       // relaxed: a hint
  std::atomic<bool> waits_ = false;           // release by who begins to wait; acquire by the poller
  std::atomic<bool> usable_changed_ = false;  // release by who has changed it, acquire by the poller, who looks

  MemoryOperations memory_;
  coalesce::CombiningQueue<Submission> submissions_;  // whose leader takes mu_

  mutable Mutex mu_;
  std::unique_ptr<ring::RingWriter> writer_ ABSL_GUARDED_BY(mu_);  // none while closed, nor, passive, before the hello
  Outgoing outgoing_ ABSL_GUARDED_BY(mu_);                         // the message being put together
  std::deque<Control> control_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<Port>> room_waiters_ ABSL_GUARDED_BY(mu_);
  // Whether there are any; written under mu_. Relaxed: the poller, who asks without the lock, has had it, or the
  // queues', since what it is to act on (a head, a completion) came to be.
  std::atomic<bool> room_wanted_ = false;
  // The same, of Flush, which looks before it says so: the poller must have had mu_ (AfterReceiving, awaited) since the
  // completion was taken; the queues' lock is not enough.
  std::atomic<bool> flush_wanted_ = false;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  schedule::Credits credits_ ABSL_GUARDED_BY(mu_);
  bool peer_may_send_ ABSL_GUARDED_BY(mu_);          // data, by what it was told last
  std::deque<uint16_t> words_ ABSL_GUARDED_BY(mu_);  // on the peer's credits, as flags: one goes with each message
  bool head_wanted_ ABSL_GUARDED_BY(mu_) = false;    // by the peer
  uint64_t head_asked_ ABSL_GUARDED_BY(mu_) = 0;     // the tail when this end has asked for the peer's
  bool vacating_ ABSL_GUARDED_BY(mu_) = false;
  bool vacant_ ABSL_GUARDED_BY(mu_) = false;                         // nobody has anything more to say here
  std::optional<uint64_t> last_word_ ABSL_GUARDED_BY(mu_);           // the tail behind it, once all streams have left
  std::vector<std::shared_ptr<Port>> leaving_ ABSL_GUARDED_BY(mu_);  // streams that drain, to go on elsewhere
  std::vector<std::shared_ptr<Port>> moved_ ABSL_GUARDED_BY(mu_);    // that have, and may send again
  uint32_t messages_ ABSL_GUARDED_BY(mu_) = 0;                       // with data; of the last ones,
  uint32_t combined_ ABSL_GUARDED_BY(mu_) = 0;                       // those of several senders
  uint64_t told_head_ ABSL_GUARDED_BY(mu_) = 0;
  Presence peer_ ABSL_GUARDED_BY(mu_) = Presence::kMaySleep;  // by its last message
  Presence told_ ABSL_GUARDED_BY(mu_) = Presence::kMaySleep;  // of this end, by the last message
  uint64_t unrung_ ABSL_GUARDED_BY(mu_) = 0;                  // the tail behind what went without a bell last; 0: none
  Traffic before_ ABSL_GUARDED_BY(mu_);                       // of earlier connections
  Departure departure_ ABSL_GUARDED_BY(mu_);                  // of the batch that is being sent
  uint64_t flush_mark_ ABSL_GUARDED_BY(mu_) = 0;              // messages posted up to the last one sent for a flush

  // Under the queues' lock.
  size_t receives_to_post_ = 0;

  // Of protocol, by the peer: by whoever polls the queues, as is that its queue pair has failed by itself.
  mutable Mutex breach_mu_;
  std::string breach_ ABSL_GUARDED_BY(breach_mu_);

  // The polling owner's.
  std::unique_ptr<ring::RingReader> reader_;
  std::unique_ptr<fabric::MemoryRegion> mirror_;  // the passive side's, for its writer, until it is met
  std::optional<uint64_t> last_head_;             // once the connection has ended
  bool greeted_ = false;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LANE_H_
