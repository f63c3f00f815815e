// The receiving half of a link: a thread that polls reads the channel's messages, and hands their items to the ports.
// One thread at a time *owns the polling*:
//
//     free  ---TakePolling--->  owned  ---Arm, by another thread--->  owned, arm wanted
//       ^                         |  ^______ the owner, who then arms ______/
//       \_____ LeavePolling ______/
//
// That is not a mutex but a state, so that what a port's Notify calls may Poll again (and is told "nothing") or Arm.
// The owner looks once more before it leaves if somebody wanted to Arm meanwhile: so no arrival goes unseen.
#ifndef SKEIN_CORE_LINK_RECEIVER_H_
#define SKEIN_CORE_LINK_RECEIVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "core/channel/channel.h"
#include "core/link/bulk.h"
#include "core/link/flushing.h"
#include "core/link/hop.h"
#include "core/link/operations.h"
#include "core/link/ports.h"
#include "core/link/send_queue.h"
#include "core/link/shares.h"

namespace skein::link {

class Receiver {
 public:
  // All outlive it.
  Receiver(channel::ChannelGroup& group, SendQueue& queue, Operations& operations, Ports& ports, Bulk& bulk,
           Flushing& flushing)
      : group_(group), queue_(queue), operations_(operations), ports_(ports), bulk_(bulk), flushing_(flushing) {}
  ~Receiver();
  // This is the passive side. Before the link is shared.
  void BePassive() { passive_ = true; }
  // The peer sends by its turns; else it always may. The same.
  absl::Status JoinShares(std::shared_ptr<Shares> shares, Shares::Activate activate);

  // As wait::SharedSource has them.
  void Woke() { woken_.store(true, std::memory_order_release); }
  bool Poll();
  bool Glance();
  bool polled() const { return polling_.load(std::memory_order_relaxed) != Polling::kFree; }
  bool Arm();
  void Disarm();
  // Takes all that had arrived before the call, and no more than about a ring of bytes.
  bool Drain();

 private:
  enum class Polling : uint32_t { kFree, kOwned, kOwnedAndArmWanted };

  channel::Channel& channel() const { return queue_.channel(); }
  bool finished() const { return ports_.lost(); }
  bool TakePolling();
  void LeavePolling();

  // By the owner of the polling.
  bool ArmOwned();
  void PollUntilArmed();
  void Acknowledge();
  bool PollOwned();
  bool IsWanted() const;
  bool Ends();
  bool spent() const;
  absl::Status PollChannel(bool readable, bool sends_completed, int& messages, bool& looked);
  absl::Status Read(int& messages);
  absl::Status AnswerRenewal();
  void Lose(const absl::Status& why);

  // items.cc
  void NoteArrival(uint64_t stage_time);
  absl::Status Receive(const channel::InMessage& message);
  absl::Status ReceiveOwn(const wire::Item& item);
  absl::Status ReceiveHello(absl::Span<const std::byte> payload);
  absl::Status ReceiveForStream(const wire::Item& item);
  absl::Status ReceiveForNobody(const wire::ItemHeader& header, uint32_t highest);

  channel::ChannelGroup& group_;
  SendQueue& queue_;
  Operations& operations_;
  Ports& ports_;
  Bulk& bulk_;
  Flushing& flushing_;
  bool passive_ = false;
  std::shared_ptr<Shares> shares_;  // null: the peer may always send
  Shares::Sender sender_ = 0;       // the peer, to them

  std::atomic<Polling> polling_{Polling::kFree};  // acquire by TakePolling, release by LeavePolling
  // Release by Woke; acquire by the owner, who then acknowledges the descriptors.
  std::atomic<bool> woken_{false};

  // The polling owner's.
  Arrival arrival_;  // of the message that is being read
  bool armed_ = false;
  absl::Status end_;                   // why the link ends, once what had arrived is read
  std::optional<uint64_t> last_byte_;  // once the connection has ended: a peer that goes on writing is read up to there
  int unlooked_ = 0;                   // turns since the completion queue was looked at
  bool greeted_ = false;               // the peer's hello has come
  uint32_t refused_opens_ = 0;         // for streams that had ended; a stream is opened once
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_RECEIVER_H_
