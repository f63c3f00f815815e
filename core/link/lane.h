// One channel of a link, and who sends there: streams' data, combined, and control that waits.
//
//            Open            Vacate              IsVacant            Release
//    closed -----> open  ------------> vacating ----------> vacant ---------> closed
//                    \____________________|____ Fail: error_ ____________________^
//
// Open and Release are the poller's, as are Vacate and IsVacant (shrinking.cc). *Vacating*: streams leave, none comes.
// *Vacant*: nobody has anything more to say there. A closed lane is a place for streams to find that they are
// elsewhere, and costs no more than this object; it opens again as if it were new.
//
// Threads. Sending: any thread, in the sender's place (send_place.h). Receiving: the owner of the link's polling, whom
// this page calls the poller. A sender tells the poller by an Event: one mask, which the poller takes by one
// exchange (acquire, with the release of Tell) into due_, its own; there an event stays until it is seen to. The place
// comes before the channel group's lock, and after StreamPort::mu_ and the link's ports_mu_ and flush_mu_. A thread
// that leaves it may have to send what others have left, and to drop the last user of a stream or of a link: so it
// holds no lock that their destructors take.
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
#include "core/channel/channel.h"
#include "core/channel/memory_operation.h"
#include "core/link/census.h"
#include "core/link/outgoing.h"
#include "core/link/port.h"
#include "core/link/send_place.h"
#include "core/link/submission.h"

namespace skein::link {

// An item that is not a stream's data. It waits for room, if need be.
struct Control {
  std::shared_ptr<Port> port;  // null: the link's own, or of a stream that has ended
  uint32_t stream = 0;
  wire::ItemKind kind = wire::ItemKind::kData;
  std::string payload;
  ConstBytes bytes = {};  // the payload, while a message is put together
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
  // It is closed: all that it had is given back. No message may be under way: it would be lost.
  void Release();
  uint16_t number() const { return options_.number; }

  // As in Channel.
  absl::StatusOr<std::string> Offer() { return channel_->Offer(); }
  absl::StatusOr<channel::Channel::Answer> Accept(absl::string_view offer) { return channel_->Accept(offer); }
  absl::Status Complete(const channel::Channel::Answer& answer) { return channel_->Complete(answer); }
  std::string Greeting() const { return channel_->Greeting(); }
  absl::Status OnGreeting(absl::string_view greeting);
  // Whether it knows where to write.
  bool met();

  // Takes as much of the first `bytes` of `buffers` as there is room for. Less than asked for lack of room: the port is
  // among TakeRoomWaiters when there is some. What concerns a port is sent on the lane that it is on at the time.
  static absl::StatusOr<size_t> Send(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes) {
    return Send(Submission(port, buffers, bytes));
  }
  // The same of items, none of which is divided; gives their number. None is larger than LargestItem().
  // RESOURCE_EXHAUSTED: nothing has gone, and the first is larger than the memory that the kernel gives now.
  static absl::StatusOr<size_t> SendItems(Port& port, absl::Span<const Gathered> items,
                                          wire::ItemKind kind = wire::ItemKind::kData) {
    return Send(Submission(port, items, kind));
  }
  // Executes it here, or posts it with those of other threads. Gives operation.posted: OnDone follows, or has been
  // called, if that is OK.
  absl::Status Operate(MemoryOperation& operation);
  // Payload bytes that one message can carry; 0 before it knows where to write.
  size_t LargestItem();
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
  // has read all that was said here; from then on there are no messages, and if the connection fails nobody loses any.
  // Asks the peer what it has read, if need be.
  void Vacate();
  bool IsVacant();

  // This end is awake no longer; or is quiet no longer (attention.h).
  void TellPresence();
  void RingForUnseen();

  // Whether all that was sent has reached the peer's memory. If not, asks that a completion will tell. `tells`: if so,
  // the caller tells all who have heard no. Who merely asks, and hears yes, leaves that to be done.
  bool Flush(bool tells);
  // Flush has said no, and nobody has told since.
  bool flush_wanted() { return IsDue(kFlush); }
  // Nothing is sent or received any more; what waits is forgotten. The queue pair is closed.
  void Fail(const absl::Status& why);
  // Why nothing can be sent; OK if it can.
  absl::Status error();
  void Close();
  bool StillConnected();
  // Why, once Ends().
  absl::Status why_disconnected();

  // Receiving. The channel, while it is open.
  channel::Channel& channel() const { return *channel_; }
  // After a number of messages, and when somebody waits: sends what had to wait, and tells the peer how much was read.
  // DATA_LOSS when the peer has said what cannot be. Does not wait for senders: where one is in the place, that one
  // does it before it leaves, and TakeUpkept says so. Before the poller sleeps, Settle waits for that.
  absl::Status AfterReceiving();
  absl::StatusOr<bool> TakeUpkept();
  // True: upkeep that was left is done, and TakeUpkept says so: the poller does not sleep yet.
  bool Settle();
  // Whether anybody may wait for room.
  bool room_wanted() { return IsDue(kRoom); }
  // Who may send again.
  std::vector<std::shared_ptr<Port>> TakeRoomWaiters();
  // Somebody waits for room or for a flush.
  bool awaited();
  // Somebody has begun to wait since this was last asked: AfterReceiving may help at once.
  bool TakeWaits() { return TakeDue(kWaits); }
  // Whether the poller has been told anything that is not seen to yet.
  bool told() const { return (due_ | events_.load(std::memory_order_relaxed)) != 0; }
  // Whether a poll has something to do here beside what messages say.
  bool WantsPoller() const { return told() || channel_->MoreRoom() || channel_->renewal_waits(); }
  // As in Channel.
  absl::Status AnswerRenewal(bool granted);
  void Activate();
  // Whether this end may send data here: it knows where to, and the peer gives it credits.
  bool usable();
  // Whether that has changed since this was last asked.
  bool TakeUsableChanged() {
    const bool here = TakeDue(kUsable);
    return channel_->TakeActiveChanged() || here;
  }
  // Whether the connection has ended, and this matters. Messages that had arrived before are still to be read, but a
  // peer may keep writing: so no more than a ring of it (spent).
  bool Ends();
  // Since it was made, over all its connections. Any thread.
  Traffic traffic();
  // The peer's first item here has come. By the owner of the polling.
  bool Greet() { return !std::exchange(greeted_, true); }
  bool greeted() const { return greeted_; }
  bool spent() const { return last_head_.has_value() && channel_->bytes_read() >= *last_head_; }

 private:
  // A sender, or a visitor, tells the poller.
  enum Event : uint32_t {
    kWaits = 1,   // somebody has begun to wait, control too; or may go on, for the peer has greeted
    kUsable = 2,  // whether this end may send data here may have changed
    kRoom = 4,    // ports wait for room, or to move: until there are none
    kFlush = 8,   // Flush has said no: until somebody tells
    kUpkept = 16  // the upkeep that the poller has left is done
  };
  void Tell(uint32_t events) { events_.fetch_or(events, std::memory_order_release); }
  // The poller's, as are the next two.
  bool IsDue(uint32_t events) {
    if (events_.load(std::memory_order_relaxed) != 0) due_ |= events_.exchange(0, std::memory_order_acquire);
    return (due_ & events) != 0;
  }
  bool TakeDue(uint32_t events) {
    if (!IsDue(events)) return false;
    due_ &= ~events;
    return true;
  }

  // In the sender's place, for a scope.
  class ABSL_SCOPED_LOCKABLE Visit {
   public:
    explicit Visit(Lane* lane) ABSL_EXCLUSIVE_LOCK_FUNCTION(lane->place_) : lane_(lane) {
      lane->place_.Enter(request_);
    }
    ~Visit() ABSL_UNLOCK_FUNCTION() {
      SendPlace::Batch batch(request_);
      lane_->LeavePlace(batch);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Lane* const lane_;
    SendPlace::Request request_;
  };
  void LeavePlace(SendPlace::Batch& batch) ABSL_UNLOCK_FUNCTION(place_) {
    place_.Leave(batch, [this] { DoLeftUpkeep(); });
  }
  // In the place of the port's lane.
  template <class Do>
  static auto AtLaneOf(Port& port, Do what) {
    for (;;) {
      Lane* const lane = port.lane_.load(std::memory_order_acquire);
      Visit visit(lane);
      if (lane->IsHere(port)) return what(*lane);
    }
  }

  void Forget();
  // Once true, it stays so until the place is left.
  bool IsHere(const Port& port) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_) {
    return port.lane_.load(std::memory_order_acquire) == this;
  }
  void Queue(Control control) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  absl::Status Upkeep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void DoLeftUpkeep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);

  // lane_sender.cc
  using Batch = SendPlace::Batch;
  static absl::StatusOr<size_t> Send(Submission submission);
  void Lead(Submission& own) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void SendBatch(Batch& batch, size_t wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  absl::Status SendOne(Batch* batch, size_t wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  size_t AddData(Batch& batch, size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  bool HasControlOf(const Port& port) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  // Its channel may fail, and the link lives on. Also that of one lane more, where this end cannot write yet: until
  // it has written, the peer says no more than hello, and minds by itself whether that arrives.
  bool NothingIsLostWithIt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_) {
    return stage_ == Stage::kVacant || (!channel_->met() && number() > 0);
  }
  void Leave(const std::shared_ptr<Port>& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void CountMessage(size_t degree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void StopIfTooLarge(Submission& submission) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  size_t AddWhole(Submission& submission, size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  bool AddControl(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void FlushControl() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  bool FlushHere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void WaitForRoom(Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  absl::Status Write(channel::Use use, Batch* batch, size_t degree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  absl::Status Execute(MemoryOperation& operation);
  void PostOperations(coalesce::Batch<MemoryOperation>& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void LeaveCopying(Batch& batch, absl::Span<channel::OutItem> items) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  static void ShareCopying(Batch& batch, absl::Span<channel::OutItem> items);
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_) {
    return error_.ok() && channel_ != nullptr && channel_->met();
  }
  void FailHere(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);

  channel::ChannelGroup& group_;
  const Options options_;
  // Null while closed. It comes and goes by the owner of the polling, in the place; that owner looks at it without.
  std::unique_ptr<channel::Channel> channel_;

  std::atomic<size_t> streams_ = 0;      // relaxed: a count to choose by
  std::atomic<int32_t> contended_ = -1;  // relaxed: a hint
  std::atomic<uint32_t> events_ = 0;     // Event

  MemoryOperations memory_;
  SendPlace place_;

  enum class Stage : uint8_t { kOpen, kVacating, kVacant };
  Stage stage_ ABSL_GUARDED_BY(place_) = Stage::kOpen;
  std::optional<uint64_t> last_word_ ABSL_GUARDED_BY(place_);  // the tail behind it, once all streams have left
  absl::Status error_ ABSL_GUARDED_BY(place_);
  absl::Status breach_ ABSL_GUARDED_BY(place_);  // found by upkeep that the poller had left
  Outgoing outgoing_ ABSL_GUARDED_BY(place_);    // the message being put together
  std::deque<Control> control_ ABSL_GUARDED_BY(place_);
  std::vector<std::weak_ptr<Port>> room_waiters_ ABSL_GUARDED_BY(place_);
  bool flush_awaited_ ABSL_GUARDED_BY(place_) = false;
  std::vector<std::shared_ptr<Port>> leaving_ ABSL_GUARDED_BY(place_);  // streams that drain, to go on elsewhere
  std::vector<std::shared_ptr<Port>> moved_ ABSL_GUARDED_BY(place_);    // that have, and may send again
  uint32_t messages_ ABSL_GUARDED_BY(place_) = 0;                       // with data; of the last ones,
  uint32_t combined_ ABSL_GUARDED_BY(place_) = 0;                       // those of several senders
  Traffic before_ ABSL_GUARDED_BY(place_);                              // of earlier connections
  Departure departure_ ABSL_GUARDED_BY(place_);                         // of the batch that is being sent

  // The polling owner's.
  uint32_t due_ = 0;                   // events taken, and not seen to yet
  bool upkeep_left_ = false;           // to the thread in the place
  std::optional<uint64_t> last_head_;  // once the connection has ended
  bool greeted_ = false;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LANE_H_
