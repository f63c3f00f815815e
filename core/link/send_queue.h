// The sending half of a link: streams' data, combined, and control that waits, on the link's channel.
//
//             Open                OnGreeting, or the channel's Complete
//   closed ----------> connecting --------------------------------------> open
//                          |                                               |
//                          \____ FailHere (a sender), Fail (the poller) ___/_____> failed
//
// *Connecting*: control waits here, data with their callers. *Failed*: error_ says why; nothing is sent any more, and
// what waited is forgotten. FailHere leaves it to the poller to tell the ports.
//
// Threads. Sending: any thread, in the sender's place (send_place.h). Receiving: the owner of the link's polling, whom
// this page calls the poller. A sender tells the poller by an event (events.h). The place comes before the channel
// group's lock, and after StreamPort::mu_ and the locks of the link's ports and of its flushing. A thread that leaves
// it may have to send what others have left, and to drop the last user of a stream or of a link: so it holds no lock
// that their destructors take.
#ifndef SKEIN_CORE_LINK_SEND_QUEUE_H_
#define SKEIN_CORE_LINK_SEND_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/channel/channel.h"
#include "core/link/events.h"
#include "core/link/link_statistics.h"
#include "core/link/outgoing.h"
#include "core/link/port.h"
#include "core/link/send_place.h"
#include "core/link/submission.h"

namespace skein::link {

// An item that is not a stream's data. It waits for space, if need be.
struct Control {
  std::shared_ptr<Port> port;  // null: the link's own, or of a stream that has ended
  uint32_t stream = 0;
  wire::ItemKind kind = wire::ItemKind::kData;
  std::string payload;
  ConstBytes bytes = {};  // the payload, while a message is put together
};

class SendQueue {
 public:
  // `group` outlives it. `combines`: what several threads send.
  SendQueue(channel::ChannelGroup& group, bool combines) : group_(group), combines_(combines) {}
  // Gives it a channel, not connected yet. Once, before the link is shared.
  absl::Status Open(const channel::ChannelOptions& options);
  // That channel, for as long as this lives. Its sending methods are this object's.
  channel::Channel& channel() const { return *channel_; }
  // The peer's greeting, of which the channel learns where to write.
  absl::Status OnGreeting(absl::string_view greeting);

  // Sends what is submitted, or as much of it as there is space for: see Link::Send and SendItems. If less than all has
  // gone for lack of space, the port is among TakeSpaceWaiters when there is some.
  absl::StatusOr<size_t> Send(Submission submission);
  // Sent now or as soon as there is space, after what the port has sent before.
  void SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload);
  void ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes);
  // The link's own.
  void SendOwn(wire::ItemKind kind, std::string payload);
  // The same, but not before something else is sent or the link is polled.
  void QueueOwn(wire::ItemKind kind, std::string payload, uint32_t stream = 0);
  // Which of the peer's blocks are free (wire::EncodePulled); those that wait are one item. DATA_LOSS if they are more
  // than there can be: the peer announces without end, and does not read the answers.
  absl::Status SendPulled(absl::string_view numbers);
  // The port waits for no space any more.
  void Remove(Port& port);
  // Calls `what` in the sender's place, with why nothing can be sent; OK if it can.
  void InPlace(absl::FunctionRef<void(const absl::Status& error)> what);

  // This end is awake no longer; or is quiet no longer (notification_suppression.h).
  void TellPresence();
  void RingForUnseen();

  // Whether all that was sent has reached the peer's memory. If not, asks that a completion will tell. `tells`: if so,
  // the caller tells all who have heard no. A caller that merely asks, and hears yes, leaves that.
  bool Flush(bool tells);
  // Nothing is sent or received any more; what waits is forgotten. The channel is closed.
  void Fail(const absl::Status& why);
  // Why nothing can be sent; OK if it can.
  absl::Status error();

  // By the poller. After a number of messages, and when somebody waits: sends what had to wait, and tells the peer how
  // much was read. DATA_LOSS when the peer has said what cannot be. Does not wait for senders: where one is in the
  // place, that one does it before it leaves, and TakeUpkept says so. Before the poller sleeps, Settle waits for that.
  absl::Status AfterReceiving();
  absl::StatusOr<bool> TakeUpkept();
  // True: upkeep that was left is done, and TakeUpkept says so: the poller does not sleep yet.
  bool Settle();
  // Who may send again.
  std::vector<std::shared_ptr<Port>> TakeSpaceWaiters();
  // Somebody waits for space or for a flush.
  bool awaited();
  Events& events() { return events_; }
  // As in Channel.
  absl::Status AnswerRenewal(bool granted);
  void Activate();
  // What was sent.
  Traffic sent();

 private:
  // In the sender's place, for a scope.
  class ABSL_SCOPED_LOCKABLE Visit {
   public:
    explicit Visit(SendQueue* queue) ABSL_EXCLUSIVE_LOCK_FUNCTION(queue->place_) : queue_(queue) {
      queue->place_.Enter(request_);
    }
    ~Visit() ABSL_UNLOCK_FUNCTION() {
      SendPlace::Batch batch(request_);
      queue_->LeavePlace(batch);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    SendQueue* const queue_;
    SendPlace::Request request_;
  };
  void LeavePlace(SendPlace::Batch& batch) ABSL_UNLOCK_FUNCTION(place_) {
    place_.Leave(batch, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_) { DoLeftUpkeep(); });
  }
  absl::Status Upkeep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void DoLeftUpkeep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_) { return error_.ok() && channel_->met(); }
  void FailHere(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void Queue(Control control) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void FlushControl() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  bool FlushHere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  void WaitForSpace(Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);

  // batch.cc
  using Batch = SendPlace::Batch;
  void Lead(Submission& own) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void SendBatch(Batch& batch, size_t wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  absl::Status SendOne(Batch* batch, size_t wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  bool AddControl(size_t space) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);
  absl::Status Write(channel::Use use, Batch* batch, size_t degree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_);

  channel::ChannelGroup& group_;
  const bool combines_;
  std::unique_ptr<channel::Channel> channel_;
  Events events_;
  SendPlace place_;

  absl::Status error_ ABSL_GUARDED_BY(place_);
  absl::Status protocol_error_ ABSL_GUARDED_BY(place_);  // found by upkeep that the poller had left
  Outgoing outgoing_ ABSL_GUARDED_BY(place_);            // the message being put together
  std::deque<Control> control_ ABSL_GUARDED_BY(place_);
  std::vector<std::weak_ptr<Port>> space_waiters_ ABSL_GUARDED_BY(place_);
  bool flush_awaited_ ABSL_GUARDED_BY(place_) = false;
  uint64_t coalesced_ ABSL_GUARDED_BY(place_) = 0;  // messages that carried several senders' bytes
  Departure departure_ ABSL_GUARDED_BY(place_);     // of the batch that is being sent

  bool upkeep_left_ = false;  // the poller's: to the thread in the place
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_SEND_QUEUE_H_
