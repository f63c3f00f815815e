// The connection between two processes that all their streams share: FLOCK's connection handle. It begins with one
// lane, which has one channel to the peer; the active side opens more when its senders contend for those
// there are, as many as the passive side allows, and closes them when they have not done so for long.
//
// Threads. Sending: any thread. Receiving: whoever Polls; one at a time *owns the polling*, which is not a mutex but a
// state, so that what a port's Notify calls may Poll again (and is told "nothing") or Arm. The owner looks once more
// before it leaves if somebody wanted to Arm meanwhile: so no arrival goes unseen. Locks: ports_mu_ or flush_mu_, then
// a lane's, then the channel group's; none is held during a call to a port's Notify.
#ifndef SKEIN_CORE_LINK_LINK_H_
#define SKEIN_CORE_LINK_LINK_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/channel/channel.h"
#include "core/fabric/fabric.h"
#include "core/link/blocks.h"
#include "core/link/census.h"
#include "core/link/lane.h"
#include "core/link/port.h"
#include "core/link/pulls.h"
#include "core/link/shares.h"
#include "core/schedule/pool_size.h"
#include "core/wait/source.h"

namespace skein::link {

struct LinkOptions {
  size_t ring_bytes = 1 << 20;
  uint64_t max_mirror_bytes = channel::ChannelOptions().max_mirror_bytes;
  uint16_t max_lanes = 1;  // 1 to kMaxLanes; of the active side. The passive one's: what it lets the peer open
  // When the active side opens another lane and when it closes one: asked after each Lane::kMessagesPerThought messages
  // of a lane, so many percent of which had to carry several senders' bytes.
  std::function<schedule::PoolWish(uint32_t percent, size_t lanes)> pool = schedule::PoolSize();
  std::shared_ptr<Shares> shares = nullptr;  // the passive side's; null: every lane is active
  bool takes_blocks = false;                 // of its peer: whether its ports do
  bool shares_memory = false;                // its peer may use the rkeys of what others were given
  bool combines = true;                      // what several threads send; false only to measure what that gives
};
inline constexpr uint16_t kMaxLanes = 16;

class Link final : public wait::SharedSource, public std::enable_shared_from_this<Link> {
 public:
  // Not connected yet: no memory but the channel group's.
  static absl::StatusOr<std::shared_ptr<Link>> Create(std::shared_ptr<channel::Transport> transport,
                                                      LinkOptions options);
  // The same over rings on the device's queue pairs.
  static absl::StatusOr<std::shared_ptr<Link>> Create(std::shared_ptr<fabric::Device> device, LinkOptions options);
  ~Link() override;

  // The active side: Offer, then Complete with what the passive side's Accept gave.
  absl::StatusOr<std::string> Offer() { return first().Offer(); }
  using Answer = channel::Channel::Answer;
  absl::Status Complete(const Answer& answer);
  absl::StatusOr<Answer> Accept(absl::string_view offer);

  // The passive side names streams. 0 when there are no more numbers or the link is lost.
  uint32_t NewStreamNumber();
  // UNAVAILABLE when the link is lost.
  absl::Status AddPort(const std::shared_ptr<Port>& port);
  // No call to the port begins after this, but one may be under way. True if none is left.
  bool RemovePort(uint32_t stream);
  // The port, which may have been removed, has lost its owner. Whether no more than kMostAbandoned on this link have:
  // a peer that never closes its side of streams has them kept.
  static constexpr size_t kMostAbandoned = 4096;
  bool Abandoned(Port& port);

  // Takes as much of the first `bytes` of `buffers`, which have so many, as there is room for. Less than asked for lack
  // of room: OnRoom follows. UNAVAILABLE when the link is lost.
  absl::StatusOr<size_t> Send(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes) {
    return Lane::Send(port, buffers, bytes);
  }
  // The same of items, none of which is divided nor larger than LargestItem(). Gives how many have gone.
  // RESOURCE_EXHAUSTED: none has, and the first is larger than the memory that the kernel gives now.
  absl::StatusOr<size_t> SendItems(Port& port, absl::Span<const Gathered> items) {
    return Lane::SendItems(port, items);
  }
  // As Send, but the bytes stay in memory of this end until the peer has pulled them: nothing else on the link waits
  // for them. Where there is no memory for that, Send it is.
  absl::StatusOr<size_t> SendBlocks(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes);
  // One-sided; see memory_operation.h.
  absl::Status Operate(MemoryOperation& operation) { return first().Operate(operation); }
  // As Channel::Pass has it, by whoever polls; and Channel::ExpectMemory, at the other end.
  absl::Status Pass(const fabric::MemoryRegion& region) { return first().channel().Pass(region); }
  void ExpectMemory() { first().channel().ExpectMemory(); }
  size_t LargestItem() const { return first().LargestItem(); }
  // Sent now or as soon as there is room, after what the port has sent before.
  void SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload = {});
  void ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes);

  void Woke() override { woken_.store(true, std::memory_order_release); }
  bool Poll() override;
  bool Glance() override;
  // Whether a thread polls just now: a hint.
  bool polled() const override { return polling_.load(std::memory_order_relaxed) != Polling::kFree; }
  bool Arm() override;
  void Disarm() override;
  int fd() const override { return group_->fd(); }
  // See CompletionQueue::Sleep.
  fabric::CompletionQueue::Woken Sleep(int also, int timeout_ms) override { return group_->Sleep(also, timeout_ms); }
  // What else its sleeper is to wake for; see CompletionQueue::Watch.
  absl::Status Watch(int fd) override { return group_->Watch(fd); }
  void Forget(int fd) override { group_->Forget(fd); }
  bool finished() const override { return lost_.load(std::memory_order_acquire); }
  bool Retire() override;
  // What the peer hears of this end, from the next message on; kMaySleep also at once. Before Arm by who has said
  // kAwake.
  void Tell(Presence presence);
  // From now on, messages need not ring a peer that is awake (attention.h): whoever polls sees to that. By one thread
  // at a time.
  void BeginQuiet() override { group_->attention().quiet.store(true, std::memory_order_relaxed); }
  void EndQuiet() override;
  void NeverSleeps() override { Tell(Presence::kSleepless); }

  // Takes all that had arrived before the call, and no more than about a ring of bytes; who sleeps still wakes for the
  // rest. False: another thread is polling, and may have hold of something.
  bool Drain() override;
  // No stream is left whose owner waits for anything.
  bool unused() const;
  size_t ports() const;
  // The same as unused(), and Flushed().
  bool idle();
  // Looks whether the peer is still there, by more than what has arrived.
  bool StillConnected();
  // Whether all that was sent has reached the peer's memory, what it has to pull included. If not, `on_flushed` (see
  // below) is called when it has.
  bool Flushed() { return Flush(/*tells=*/false); }
  // Calls `then` once that is so, or with why it never will be: from a poll, or at once; with no lock held.
  void WhenFlushed(std::function<void(const absl::Status&)> then);
  // Called by the poller with no lock held, when that is so or the link is lost. Set before the link is shared.
  void set_on_flushed(std::function<void()> on_flushed) { on_flushed_ = std::move(on_flushed); }
  // What judges the queue pairs that the peer names for further lanes, as the first was judged. Set before the link is
  // shared.
  using CheckPeer = std::function<absl::Status(absl::string_view queue_pair)>;
  void set_check_peer(CheckPeer check_peer) { check_peer_ = std::move(check_peer); }
  // Ends the link; the next Poll tells the ports.
  void Close() override;
  // The same, if it is unused; and no stream comes in between.
  void CloseIfUnused();
  // Of an idle link: the same, but the peer is told first where it would not notice. To be polled until it is finished.
  void Leave();
  // Whether the peer has told this end where to write.
  bool met() const;
  // The same, and neither end is leaving.
  bool attached() const;

  absl::string_view fabric_name() const { return transport_->name(); }
  // Since it was made. Any thread.
  Traffic traffic() const;
  // Queue pairs that it has now.
  size_t lanes() const { return lane_count_.load(std::memory_order_acquire); }
  channel::Transport::Traits traits() const { return transport_->traits(); }
  // For one-sided operations; null where the transport has none.
  const std::shared_ptr<fabric::Device>& device() const { return group_->device(); }
  // Ends a sleep on fd(), whoever sleeps.
  void WakeSleeper() override { group_->Wake(); }

 private:
  enum class Polling : uint32_t { kFree, kOwned, kOwnedAndArmWanted };
  // What is to become of the last lane. Only of that, and of one at a time.
  //
  //   kStays --> kOpening   the active side has asked for one more: kStays when the passive side refuses
  //   kStays, kOpening --> kConnecting   a thread, perhaps another one, connects one more; then kStays
  //   kStays --> kVacating  is to be closed: its streams leave, and then the active side asks: kClosing
  //   kVacating, kClosing --> kGone   both ends have left it: the lane is dropped
  //
  // The lane that is being opened does not count as the last one before it is connected (CountNextLane).
  enum class LastLane : uint8_t { kStays, kOpening, kConnecting, kVacating, kClosing, kGone };

  Link(std::shared_ptr<channel::Transport> transport, std::unique_ptr<channel::ChannelGroup> group, LinkOptions options)
      : transport_(std::move(transport)), options_(std::move(options)), group_(std::move(group)) {}

  // Whether it may ever have more than one lane.
  bool grows() const { return options_.max_lanes > 1; }
  Lane& first() const { return *lanes_[0]; }
  Lane& last() const { return *lanes_[lanes() - 1]; }
  absl::Span<const std::unique_ptr<Lane>> all_lanes() const { return absl::MakeConstSpan(lanes_).first(lanes()); }
  Lane& NextLane();  // closed, or being made
  void CountNextLane();
  bool Flush(bool tells);  // see Lane
  // Why not all that was sent may ever arrive; OK if it may.
  absl::Status send_error() const;
  void JoinShares();
  absl::Status PreparePulls();

  // growing.cc: by the owner of the polling, but for the next two, which any thread may call
  std::vector<uint16_t> UsableLanes() const;
  Lane& LaneForNewStream() const;
  void Resize();
  void OpenLane();
  absl::Status OnOpenLane(absl::Span<const std::byte> payload);
  absl::Status OnLane(absl::Span<const std::byte> payload);
  absl::Status OnNoLane();
  using Connect = std::function<absl::StatusOr<Answer>(Lane&)>;
  absl::Status ConnectNextLane(Connect connect);
  absl::Status GoOnConnecting() {
    const bool done = last_lane_ == LastLane::kConnecting && connected_.load(std::memory_order_acquire);
    return done ? OnConnected() : absl::OkStatus();
  }
  absl::Status OnConnected();
  void GiveNextLane(const absl::StatusOr<Answer>& answer);
  absl::Status TakeNextLane(const absl::Status& completed);
  void ForgoNextLane();
  bool PlaceStreams();

  // shrinking.cc: by the owner of the polling
  void CloseLane();
  absl::Status OnCloseLane();
  absl::Status OnLaneClosed();
  bool GoOnClosing();  // true: a lane has been dropped
  void DropLane();

  // large_payloads.cc: by the owner of the polling, but for sending
  absl::StatusOr<size_t> SendGroup(Port& port, absl::Span<const ConstBytes> buffers, size_t offset, size_t most);
  absl::Status OnBlock(Port* port, absl::Span<const std::byte> payload);
  absl::Status OnPulled(absl::Span<const std::byte> payload);
  absl::Status Pull(int& messages);
  bool PullsWait();
  std::shared_ptr<Port> FindPort(uint32_t stream) const;

  // receiver.cc: all by the owner of the polling
  bool TakePolling();
  void LeavePolling();
  void Acknowledge();
  bool PollOwned();
  bool Idle() const;
  bool ArmOwned();
  void PollUntilArmed();
  bool SendsCompletedForSomebody();
  bool Ends();
  bool FlushWanted() const;
  absl::Status AfterPlacing();
  absl::Status PollLane(Lane& lane, bool readable, bool sends_completed, int& messages, bool& looked);
  absl::Status Read(Lane& lane, int& messages);
  void NoteArrival(uint64_t stage_time);
  absl::Status Receive(Lane& lane, const channel::InMessage& message);
  absl::Status ReceiveOwn(Lane& lane, const wire::Item& item);
  absl::Status ReceiveHello(Lane& lane, absl::Span<const std::byte> payload);
  absl::Status ReceiveForStream(const wire::Item& item);
  absl::Status ReceiveForNobody(const wire::ItemHeader& header);
  static absl::Status Deliver(Port& port, const wire::Item& item);
  void TouchRoomWaiters(Lane& lane);
  uint32_t ReadableLanes() const;
  uint64_t bytes_read() const;
  void Touch(std::shared_ptr<Port> port);
  std::shared_ptr<Port> RecentPort(uint32_t stream) const;
  void NotifyTouched();
  void TellFlushed();
  void Lose(const absl::Status& why);

  const std::shared_ptr<channel::Transport> transport_;
  const LinkOptions options_;
  const std::unique_ptr<channel::ChannelGroup> group_;  // outlives the lanes
  Blocks blocks_{group_->device().get()};
  std::unique_ptr<Pulls> pulls_;  // null: it takes no blocks. Set before the link is shared; outlives the channels
  // None goes before the link does: those from lane_count_ on are closed. The next one may be about to be
  // connected. Added by the owner of the polling, or before the link is shared.
  std::array<std::unique_ptr<Lane>, kMaxLanes> lanes_;
  std::atomic<uint16_t> lanes_made_ = 0;  // release after another one was; acquire by who counts their traffic
  std::atomic<uint16_t> lane_count_ = 0;  // release after a lane was opened; acquire by who looks at it
  std::optional<Shares::Sender> sender_;  // the peer, to the shares
  std::function<void()> on_flushed_;
  CheckPeer check_peer_ = [](absl::string_view) { return absl::OkStatus(); };
  bool passive_ = false;  // set before the link is shared, as are the above

  std::atomic<bool> lost_ = false;                // release by Lose; acquire by finished()
  std::atomic<Polling> polling_{Polling::kFree};  // acquire by TakePolling, release by LeavePolling

  // Release by Woke; acquire by the owner, who then acknowledges the descriptors.
  std::atomic<bool> woken_{false};

  // The result for the next lane. The thread that connects it writes connection_, then connected_ with release. The
  // owner of the polling reads connected_ with acquire; from then on both are the owner's again.
  absl::StatusOr<Answer> connection_;
  std::atomic<bool> connected_{false};

  mutable Mutex ports_mu_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Port>> ports_ ABSL_GUARDED_BY(ports_mu_);
  size_t abandoned_ports_ ABSL_GUARDED_BY(ports_mu_) = 0;
  uint32_t highest_stream_ ABSL_GUARDED_BY(ports_mu_) = 0;
  bool takes_no_port_ ABSL_GUARDED_BY(ports_mu_) = false;  // for it is about to be closed

  mutable Mutex flush_mu_;
  bool leaving_ ABSL_GUARDED_BY(flush_mu_) = false;
  std::vector<std::function<void(const absl::Status&)>> flush_waiters_ ABSL_GUARDED_BY(flush_mu_);

  // The polling owner's.
  Arrival arrival_;  // of the message that is being read
  std::vector<std::shared_ptr<Port>> touched_;
  uint32_t recent_stream_ = 0;  // of the last item for a stream
  std::weak_ptr<Port> recent_;
  bool armed_ = false;
  absl::Status end_;  // why the link ends, once what had arrived is read
  LastLane last_lane_ = LastLane::kStays;
  bool placed_ = true;                // the last PlaceStreams has left nobody where he is
  uint16_t most_lanes_ = UINT16_MAX;  // since one more was refused, or could not be made
  uint64_t bytes_read_before_ = 0;    // on lanes that were closed
  int unlooked_ = 0;                  // turns since the queues were looked at
  uint32_t refused_opens_ = 0;        // for streams that had ended; a stream is opened once
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LINK_H_
