// The connection between two processes that all their streams share: one queue pair, a ring in each direction. (FLOCK's
// connection handle; a pool of queue pairs takes the place of the one without a change here.)
//
// Threads. Sending: any thread, under tx_mu_. Receiving: whoever Polls; one at a time *owns the polling*, which is not
// a mutex but a state, so that what a port's Notify calls may Poll again (and is told "nothing") or Arm. The owner
// looks once more before it leaves if somebody wanted to Arm meanwhile: so no arrival goes unseen. Locks: ports_mu_,
// tx_mu_, queue_mu_ are taken in this order; none is held during a call to a port's Notify.
#ifndef SKEIN_CORE_LINK_LINK_H_
#define SKEIN_CORE_LINK_LINK_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/fabric/fabric.h"
#include "core/link/port.h"
#include "core/progress/progress.h"
#include "core/ring/ring_reader.h"
#include "core/ring/ring_writer.h"
#include "core/wire/ring_descriptor.h"

namespace skein::link {

using ConstBytes = absl::Span<const std::byte>;

class Link final : public progress::Source, public std::enable_shared_from_this<Link> {
 public:
  // Not connected yet: no ring, no memory but the queues'.
  static absl::StatusOr<std::shared_ptr<Link>> Create(std::shared_ptr<fabric::Device> device, size_t ring_bytes,
                                                      uint64_t max_mirror_bytes = ring::kMaxMirrorBytes);
  ~Link() override;

  // The active side: Offer, then Complete with what the passive side's Accept gave.
  absl::StatusOr<std::string> Offer() { return queue_pair_->Offer(); }
  absl::Status Complete(absl::string_view queue_pair_answer, const wire::RingDescriptor& peer_ring);
  struct Accepted {
    std::string queue_pair_answer;
    wire::RingDescriptor ring;
  };
  absl::StatusOr<Accepted> Accept(absl::string_view queue_pair_offer);

  // The passive side names streams. 0 when there are no more numbers or the link is lost.
  uint32_t NewStreamNumber();
  // UNAVAILABLE when the link is lost.
  absl::Status AddPort(const std::shared_ptr<Port>& port);
  // No call to the port begins after this, but one may be under way. True if none is left.
  bool RemovePort(uint32_t stream);

  // Takes as much of `buffers` as there is room for, at most `max_bytes`. Less than asked for lack of room: OnRoom
  // follows. UNAVAILABLE when the link is lost.
  absl::StatusOr<size_t> Send(Port& port, absl::Span<const ConstBytes> buffers, size_t max_bytes);
  // Sent now or as soon as there is room, after what the port has sent before.
  void SendControl(std::shared_ptr<Port> port, wire::ItemKind kind, std::string payload = {});
  void ReturnWindow(std::shared_ptr<Port> port, uint64_t bytes);

  bool Poll() override;
  bool Arm() override;
  int fd() const override { return queue_->fd(); }
  bool finished() const override { return lost_.load(std::memory_order_acquire); }
  bool Retire() override;
  // Polls until nothing more has arrived, and arms. False: another thread is polling, and may have hold of something.
  bool Drain();
  // No stream is left whose owner waits for anything.
  bool unused() const;
  // The same, and Flushed().
  bool idle();
  // Looks whether the peer is still there, by more than what has arrived.
  bool StillConnected();
  // Whether all that was sent has reached the peer's memory. If not, `on_flushed` (see below) is called when it has.
  bool Flushed();
  // Calls `then` once that is so, or with why it never will be: from a poll, or at once; with no lock held.
  void WhenFlushed(std::function<void(const absl::Status&)> then);
  // Called by the poller with no lock held, when that is so or the link is lost. Set before the link is shared.
  void set_on_flushed(std::function<void()> on_flushed) { on_flushed_ = std::move(on_flushed); }
  // Ends the link; the next Poll tells the ports.
  void Close();
  // Of an idle link: the same, but the peer is told first where it would not notice. `left` is called when it has been
  // told, or never can be: from a poll, or at once. To be polled until then.
  void Leave(std::function<void()> left);
  // Whether the peer has told this end where to write.
  bool met() const;
  // The same, and neither end is leaving.
  bool attached() const;

  absl::string_view fabric_name() const { return device_->name(); }

 private:
  struct Control {
    std::shared_ptr<Port> port;  // null: the link's own, or of a stream that has ended
    uint32_t stream = 0;
    wire::ItemKind kind = wire::ItemKind::kHead;
    std::string payload;
  };
  enum class Polling : uint32_t { kFree, kOwned, kOwnedAndArmWanted };

  Link(std::shared_ptr<fabric::Device> device, size_t ring_bytes, uint64_t max_mirror_bytes);

  // link.cc
  absl::Status AllocateRing();
  wire::RingDescriptor OwnRing() const;
  absl::Status PostReceives(size_t count);
  bool PollQueue() ABSL_LOCKS_EXCLUDED(queue_mu_);

  // sender.cc
  bool TakeControl(size_t room, std::vector<ring::OutItem>& items, std::vector<ConstBytes>& parts, size_t& used)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);
  absl::StatusOr<size_t> SendOne(Port* port, absl::Span<const ConstBytes> data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);
  void FlushControl() ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);
  absl::Status WriteItems(absl::Span<ring::OutItem> items, ring::Reserve reserve, bool signaled = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);
  void WaitForRoom(Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);
  void SendFailed(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);
  bool FlushedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);
  void TellHead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(tx_mu_);

  // receiver.cc: all by the owner of the polling
  bool TakePolling();
  void LeavePolling();
  bool PollOwned();
  bool ArmOwned();
  bool SendsCompletedForSomebody();
  absl::Status Receive(const ring::Message& message);
  absl::Status ReceiveHello(absl::Span<const std::byte> payload);
  absl::Status ReceiveForStream(const wire::Item& item);
  absl::Status ReceiveForNobody(const wire::ItemHeader& header);
  static absl::Status Deliver(Port& port, const wire::Item& item);
  void TouchRoomWaiters();
  void Touch(const std::shared_ptr<Port>& port);
  void NotifyTouched();
  void TellFlushed();
  void Lose(const absl::Status& why);

  const std::shared_ptr<fabric::Device> device_;
  const size_t ring_bytes_;
  const uint64_t max_mirror_bytes_;  // of the peer's ring, where the device needs one
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::MemoryRegion> ring_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  uint64_t ring_secret_ = 0;
  std::function<void()> on_flushed_;
  bool passive_ = false;  // set before the link is shared, as are the above

  std::atomic<bool> lost_ = false;     // release by Lose; acquire by finished()
  std::atomic<uint64_t> reached_ = 0;  // messages known to have reached the peer; relaxed, checked again when it moves
  std::atomic<uint64_t> read_head_ = 0;  // release by the poller after it has copied; acquire by senders, who tell it
  std::atomic<Polling> polling_{Polling::kFree};  // acquire by TakePolling, release by LeavePolling

  mutable absl::Mutex ports_mu_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Port>> ports_ ABSL_GUARDED_BY(ports_mu_);
  uint32_t highest_stream_ ABSL_GUARDED_BY(ports_mu_) = 0;

  mutable absl::Mutex tx_mu_ ABSL_ACQUIRED_AFTER(ports_mu_);
  std::unique_ptr<ring::RingWriter> writer_ ABSL_GUARDED_BY(tx_mu_);  // the passive side has none before the hello
  std::deque<Control> control_ ABSL_GUARDED_BY(tx_mu_);
  std::vector<std::weak_ptr<Port>> room_waiters_ ABSL_GUARDED_BY(tx_mu_);
  absl::Status tx_error_ ABSL_GUARDED_BY(tx_mu_);
  uint64_t told_head_ ABSL_GUARDED_BY(tx_mu_) = 0;
  bool leaving_ ABSL_GUARDED_BY(tx_mu_) = false;
  bool flush_wanted_ ABSL_GUARDED_BY(tx_mu_) = false;
  std::vector<std::function<void(const absl::Status&)>> flush_waiters_ ABSL_GUARDED_BY(tx_mu_);
  uint64_t flush_mark_ ABSL_GUARDED_BY(tx_mu_) = 0;  // messages posted up to the last one sent for a flush

  absl::Mutex queue_mu_ ABSL_ACQUIRED_AFTER(tx_mu_);
  size_t receives_to_post_ ABSL_GUARDED_BY(queue_mu_) = 0;
  bool queue_pair_failed_ ABSL_GUARDED_BY(queue_mu_) = false;
  bool sends_completed_ ABSL_GUARDED_BY(queue_mu_) = false;  // since the polling owner looked

  // The polling owner's.
  std::unique_ptr<ring::RingReader> reader_;
  std::vector<std::shared_ptr<Port>> touched_;
  bool armed_ = false;
  bool greeted_ = false;               // the passive side has had its hello
  std::optional<uint64_t> last_head_;  // once disconnected: no more than a ring of bytes is read
  uint32_t refused_opens_ = 0;         // for streams that had ended; a stream is opened once
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LINK_H_
