// The connection between two processes that all their streams share: FLOCK's connection handle, on one channel to the
// peer (README.md says why one).
//
//          Create           Accept (passive)               Close, Leave; the peer's end or protocol error
//            |             Complete (active)
//            v                                                                            Receiver::Lose
//         offering ----------------------------> connected ----------------------> ending ----------------> finished
//
// *Ending*: what had arrived is still read. *Finished*: the ports have heard OnLost. The poller makes that step.
//
// Parts, each with a contract of its own: Ports, SendQueue, Receiver, Bulk, Flushing, Operations. Threads. Sending: any
// thread. Receiving: a thread that Polls, one at a time (receiver.h). Locks: the ports' or the flushing's, then the
// sender's place, then the channel group's; none is held during a call to a port's Notify.
#ifndef SKEIN_CORE_LINK_LINK_H_
#define SKEIN_CORE_LINK_LINK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/channel/channel.h"
#include "core/fabric/fabric.h"
#include "core/link/bulk.h"
#include "core/link/flushing.h"
#include "core/link/link_statistics.h"
#include "core/link/operations.h"
#include "core/link/port.h"
#include "core/link/ports.h"
#include "core/link/receiver.h"
#include "core/link/send_queue.h"
#include "core/link/shares.h"
#include "core/wait/source.h"

namespace skein::link {

using channel::Presence;

struct LinkOptions {
  size_t ring_bytes = 1 << 20;
  uint64_t max_staging_bytes = channel::ChannelOptions().max_staging_bytes;
  std::shared_ptr<Shares> shares = nullptr;  // the passive side's; null: the peer may always send
  bool takes_blocks = false;                 // of its peer: whether its ports do
  bool shares_memory = false;                // its peer may use the rkeys of what others were given
  bool combines = true;                      // what several threads send; false only to measure what that gives
};

class Link final : public wait::SharedSource, public std::enable_shared_from_this<Link> {
 public:
  // Not connected yet: no memory but the channel group's.
  static absl::StatusOr<std::shared_ptr<Link>> Create(std::shared_ptr<channel::Transport> transport,
                                                      LinkOptions options);
  ~Link() override;

  // The active side: Offer, then Complete with what the passive side's Accept gave.
  absl::StatusOr<std::string> Offer() { return queue_.channel().Offer(); }
  using Answer = channel::Channel::Answer;
  absl::Status Complete(const Answer& answer);
  absl::StatusOr<Answer> Accept(absl::string_view offer);

  Ports& ports() { return ports_; }
  Flushing& flushing() { return flushing_; }
  // Its methods for any thread.
  channel::Channel& channel() const { return queue_.channel(); }
  const channel::Transport& transport() const { return *transport_; }
  // For one-sided operations; null where the transport has none.
  const std::shared_ptr<fabric::Device>& device() const { return group_->device(); }

  // Takes as much of the first `bytes` of `buffers`, which have so many, as there is space for. Less than asked for
  // lack of space: OnSpace follows. UNAVAILABLE when the link is lost.
  absl::StatusOr<size_t> Send(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes) {
    return queue_.Send({port, buffers, bytes});
  }
  // The same of items, none of which is divided nor larger than the channel's LargestItem(). Gives how many have gone.
  // RESOURCE_EXHAUSTED: none has, and the first is larger than the memory that the kernel gives now.
  absl::StatusOr<size_t> SendItems(Port& port, absl::Span<const Gathered> items) {
    return queue_.Send({port, items, wire::ItemKind::kData});
  }
  // As Send, but the bytes stay in memory of this end until the peer has pulled them: nothing else on the link waits
  // for them. Where there is no memory for that, Send it is.
  absl::StatusOr<size_t> SendBlocks(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes);
  // One-sided; see operations.h.
  absl::Status Operate(MemoryOperation& operation) { return operations_.Operate(operation); }
  // Sent now or as soon as there is space, after what the port has sent before.
  void SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload = {}) {
    queue_.SendControl(port, kind, std::move(payload));
  }
  void ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes) { queue_.ReturnWindow(port, bytes); }

  void Woke() override { receiver_.Woke(); }
  bool Poll() override { return receiver_.Poll(); }
  bool Glance() override { return receiver_.Glance(); }
  bool polled() const override { return receiver_.polled(); }
  bool Arm() override { return receiver_.Arm(); }
  void Disarm() override { receiver_.Disarm(); }
  bool Drain() override { return receiver_.Drain(); }
  int fd() const override { return group_->fd(); }
  // See CompletionQueue::Sleep.
  fabric::CompletionQueue::Woken Sleep(int also, int timeout_ms) override { return group_->Sleep(also, timeout_ms); }
  // What else its sleeper is to wake for; see CompletionQueue::Watch.
  absl::Status Watch(int fd) override { return group_->Watch(fd); }
  void Forget(int fd) override { group_->Forget(fd); }
  // Ends a sleep on fd(), whoever sleeps.
  void WakeSleeper() override { group_->Wake(); }
  bool finished() const override { return ports_.lost(); }
  bool Retire() override;
  // What the peer hears of this end, from the next message on; kMaySleep also at once. Before Arm by who has said
  // kAwake.
  void Tell(Presence presence);
  // From now on, messages need not ring a peer that is awake (notification_suppression.h): whoever polls sees to that.
  // By one thread at a time.
  void BeginQuiet() override { group_->suppression().quiet.store(true, std::memory_order_relaxed); }
  void EndQuiet() override;
  void NeverSleeps() override { Tell(Presence::kSleepless); }

  // Looks whether the peer is still there, by more than what has arrived.
  bool StillConnected();
  // Whether another stream may come by it: the peer has told this end where to write, this end is not leaving, and
  // StillConnected.
  bool TakesStreams();
  // Ends the link; the next Poll tells the ports.
  void Close() override;
  // Of an idle link: the same, but the peer is told first where it would not notice. To be polled until it is finished.
  void Leave();
  // Since it was made. Any thread.
  Traffic traffic() const;

 private:
  Link(std::shared_ptr<channel::Transport> transport, std::unique_ptr<channel::ChannelGroup> group, LinkOptions options)
      : transport_(std::move(transport)), options_(std::move(options)), group_(std::move(group)) {}

  const std::shared_ptr<channel::Transport> transport_;
  const LinkOptions options_;
  const std::unique_ptr<channel::ChannelGroup> group_;
  // The first two outlive the channel, which is queue_'s: completions come for them, and the device writes into their
  // memory.
  Operations operations_{queue_};
  Bulk bulk_{*group_, queue_, operations_, ports_};
  mutable SendQueue queue_{*group_, options_.combines};  // mutable: its place is entered even to look
  Ports ports_{queue_};
  Flushing flushing_{queue_, bulk_.blocks()};
  Receiver receiver_{*group_, queue_, operations_, ports_, bulk_, flushing_};
  std::atomic<bool> leaving_{false};  // relaxed: nothing else is read by it
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LINK_H_
