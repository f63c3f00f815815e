// One channel of a link, and who sends there: streams' data, combined, and control that waits.
//
// It may be closed, and opened again as if it were new: a closed lane is a place for streams to find that they are
// elsewhere, and costs no more than this object.
//
// Threads. Sending: any thread, under mu_, which is the channel's *sender's place*. Receiving: the owner of the link's
// polling. Locks: mu_, then the channel group's.
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
#include "core/channel/channel.h"
#include "core/channel/memory_operation.h"
#include "core/link/census.h"
#include "core/link/outgoing.h"
#include "core/link/port.h"
#include "core/link/submission.h"

namespace skein::link {

// An item that is not a stream's data. It waits for room, if need be.
struct Control {
  std::shared_ptr<Port> port;  // null: the link's own, or of a stream that has ended
  uint32_t stream = 0;
  wire::ItemKind kind = wire::ItemKind::kHead;
  std::string payload;
};

using channel::MemoryOperation;
using channel::MemoryOperations;
using channel::Presence;

class Lane {
 public:
  struct Options {
    channel::ChannelOptions channel;
    uint16_t number = 0;   // among its link's
    bool combines = true;  // what several threads send
  };
  // Closed. `group` outlives it.
  Lane(channel::ChannelGroup& group, const Options& options) : group_(group), options_(options) {}
  ~Lane() { Release(); }
  // A new channel, not connected yet. By the owner of the polling, as are the next ones.
  absl::Status Open();
  // It is closed: all that it had is given back. Nothing may be under way but heads; what else there is, is lost.
  void Release();
  uint16_t number() const { return options_.number; }

  // As in Channel.
  absl::StatusOr<std::string> Offer() { return channel_->Offer(); }
  absl::StatusOr<channel::Channel::Answer> Accept(absl::string_view offer) { return channel_->Accept(offer); }
  absl::Status Complete(const channel::Channel::Answer& answer) { return channel_->Complete(answer); }
  std::string Greeting() const { return channel_->Greeting(); }
  absl::Status OnGreeting(absl::string_view greeting);
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
  // Executes it here, or posts it with those of other threads. Gives operation.posted: OnDone follows, or has been
  // called, if that is OK.
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
  // Why, once Ends().
  absl::Status why_disconnected() const;

  // Receiving. The channel, while it is open.
  channel::Channel& channel() const { return *channel_; }
  // After a number of messages, and when somebody waits: sends what had to wait, and tells the peer how much was read.
  // DATA_LOSS when the peer has said what cannot be.
  absl::Status AfterReceiving();
  // Whether anybody may wait for room: a hint, see room_wanted_.
  bool room_wanted() const { return room_wanted_.load(std::memory_order_relaxed); }
  // Who may send again.
  std::vector<std::shared_ptr<Port>> TakeRoomWaiters();
  // Somebody waits for room or for a flush.
  bool awaited() const;
  // Somebody has begun to wait since this was last asked: AfterReceiving may help at once.
  bool TakeWaits() {
    return waits_.load(std::memory_order_relaxed) && waits_.exchange(false, std::memory_order_acquire);
  }
  // As in Channel.
  absl::Status AnswerRenewal(bool granted);
  void Activate();
  // Whether this end may send data here: it knows where to, and the peer gives it credits.
  bool usable() const;
  // Whether that has changed since this was last asked.
  bool TakeUsableChanged() {
    const bool here = usable_changed_.exchange(false, std::memory_order_acquire);
    return channel_->TakeActiveChanged() || here;
  }
  // Whether the connection has ended, and this matters. Messages that had arrived before are still to be read, but a
  // peer may keep writing: so no more than a ring of it (spent).
  bool Ends();
  // Since it was made, over all its connections. Any thread.
  Traffic traffic() const;
  // The peer's first item here has come. By the owner of the polling.
  bool Greet() { return !std::exchange(greeted_, true); }
  bool greeted() const { return greeted_; }
  bool spent() const { return last_head_.has_value() && channel_->bytes_read() >= *last_head_; }

 private:
  void Forget();
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
  // Its channel may fail, and the link lives on. Also that of one lane more, where this end cannot write yet: until
  // it has written, the peer says no more than hello, and minds by itself whether that arrives.
  bool NothingIsLostWithIt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return vacant_ || (!channel_->met() && number() > 0);
  }
  void Leave(const std::shared_ptr<Port>& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountMessage(size_t degree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t AddWhole(Submission& submission, size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AddControl(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FlushControl() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FlushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitForRoom(Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Write(channel::Use use, Batch* batch, size_t degree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Execute(MemoryOperation& operation);
  void PostOperations(coalesce::Batch<MemoryOperation>& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeaveCopying(Batch& batch, absl::Span<channel::OutItem> items) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void ShareCopying(Batch& batch, absl::Span<channel::OutItem> items);
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return error_.ok() && channel_ != nullptr && channel_->met();
  }
  void FailLocked(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  channel::ChannelGroup& group_;
  const Options options_;
  // Null while closed. It comes and goes by the owner of the polling, under mu_; that owner looks at it without.
  std::unique_ptr<channel::Channel> channel_;

  std::atomic<size_t> streams_ = 0;           // relaxed: a count to choose by
  std::atomic<int32_t> contended_ = -1;       // relaxed: a hint
  std::atomic<bool> waits_ = false;           // release by who begins to wait; acquire by the poller
  std::atomic<bool> usable_changed_ = false;  // release by who has changed it, acquire by the poller, who looks

  MemoryOperations memory_;
  coalesce::CombiningQueue<Submission> submissions_;  // whose leader takes mu_

  mutable Mutex mu_;
  Outgoing outgoing_ ABSL_GUARDED_BY(mu_);  // the message being put together
  std::deque<Control> control_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<Port>> room_waiters_ ABSL_GUARDED_BY(mu_);
  // Whether there are any; written under mu_. Relaxed: the poller, who asks without the lock, has had it, or the
  // queues', since what it is to act on (a head, a completion) came to be.
  std::atomic<bool> room_wanted_ = false;
  // The same, of Flush, which looks before it says so: the poller must have had mu_ (AfterReceiving, awaited) since the
  // completion was taken; the queues' lock is not enough.
  std::atomic<bool> flush_wanted_ = false;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  bool vacating_ ABSL_GUARDED_BY(mu_) = false;
  bool vacant_ ABSL_GUARDED_BY(mu_) = false;                         // nobody has anything more to say here
  std::optional<uint64_t> last_word_ ABSL_GUARDED_BY(mu_);           // the tail behind it, once all streams have left
  std::vector<std::shared_ptr<Port>> leaving_ ABSL_GUARDED_BY(mu_);  // streams that drain, to go on elsewhere
  std::vector<std::shared_ptr<Port>> moved_ ABSL_GUARDED_BY(mu_);    // that have, and may send again
  uint32_t messages_ ABSL_GUARDED_BY(mu_) = 0;                       // with data; of the last ones,
  uint32_t combined_ ABSL_GUARDED_BY(mu_) = 0;                       // those of several senders
  Traffic before_ ABSL_GUARDED_BY(mu_);                              // of earlier connections
  Departure departure_ ABSL_GUARDED_BY(mu_);                         // of the batch that is being sent

  // The polling owner's.
  std::optional<uint64_t> last_head_;  // once the connection has ended
  bool greeted_ = false;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LANE_H_
