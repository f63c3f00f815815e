// FLOCK's ring (thesis 3.3) on a reliable connection: one queue pair, and a ring in each direction. A message is one
// WRITE into the peer's ring; a WRITE_WITH_IMM where the reader may sleep or credits are asked for. What each end has
// consumed, its answers on credits and whether it is awake are in its control line (core/wire/control.h), which it
// writes behind the peer's ring: that takes no space, no credit and, unless it rings, no receive.
//
// Who owns what. The *sender's place* (whoever holds it: see channel.h) owns the writer, the credits, what this end
// says of itself and what the peer has said. The *poller* (the owner of the link's polling) owns the reader. Two
// atomics lie between them: how much is consumed, and whether the peer's line is news (handover.h).
//
// When the line is written (Say), and when it rings a peer that may sleep:
//
//   consumed a quarter of the ring    no notification: a peer that waits for that says `wanted`
//   consumed what the peer wanted     rings
//   lacks space                        rings: `wanted`, once until that is consumed
//   an answer to a renewal, or an activation   rings
//   goes to sleep                     no notification
//   is awake again                    with the next message, one doorbell for both
//
// No wake-up is lost: a line that rings and went without a notification, to a peer that was awake, counts as unseen
// like a message (notification_suppression.h). A line without a notification may land at a peer that has just gone to
// sleep over it: that peer has said `wanted` before, and what it wanted is said once more, with a notification, when
// this end heeds that, even if the peer was told before.
//
// | atomic | written | pairs with |
// |---|---|---|
// | messages_read_ | by the poller, relaxed | none: a number for statistics |
// | peer_seen_ | by the poller, relaxed | none: a count that is compared; an old one costs a notification |
#ifndef SKEIN_CORE_CHANNEL_RING_RING_CHANNEL_H_
#define SKEIN_CORE_CHANNEL_RING_RING_CHANNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/channel/ring/handover.h"
#include "core/channel/ring/ring_connection.h"
#include "core/schedule/credits.h"

namespace skein::channel {

class RingChannel final : public RingConnection {
 public:
  RingChannel(RingGroup& group, std::unique_ptr<fabric::QueuePair> queue_pair, const ChannelOptions& options);

  size_t Space(Use use) override;
  size_t LargestItem() const override { return !met() ? 0 : writer().LargestItem(); }
  absl::Status Lay(absl::Span<OutItem> items, Use use) override;
  absl::Status Publish(uint64_t stage_time) override;
  uint64_t written() const override { return !met() ? 0 : writer().tail(); }
  uint64_t messages_written() const override { return !met() ? 0 : writer().posted(); }
  absl::StatusOr<bool> Reached() override;
  absl::Status Heed() override;
  absl::Status Tend() override;
  bool tending() const override { return owes_ != Owes::kNothing || (unrung_ != 0 && MustRing()); }
  void TellPresence() override;
  void RingForUnseen() override { EndIfBroken(RingIfUnseen()); }

  absl::StatusOr<std::optional<InMessage>> Next() override;
  void Pop() override;
  bool Readable() const override;
  bool AfterReading() override { return consumption_.due(); }
  bool MoreSpace() override { return met() && (peer_control().news() || consumption_.due()); }
  uint64_t messages_read() const override { return messages_read_.load(std::memory_order_relaxed); }
  uint64_t bytes_read() const override { return consumption_.consumed(); }

  absl::Status AnswerRenewal(bool granted) override;
  void Activate() override;

 private:
  // That the peer has not been told; the larger one includes the smaller.
  enum class Owes : uint8_t { kNothing, kLine, kLineAndNotify };

  // The sender's place.
  absl::Status LookAtPeer(bool heeds);
  bool Want();
  bool Answers() const { return peer_.wanted > answered_ && own_.consumed >= peer_.wanted; }
  void PrepareLine();
  absl::Status Say(bool signaled = false);
  Posting NextPosting(bool rings);
  void OnPosted(const Posting& posting, bool with_line);
  void SetTellAt();
  bool MustRing() const;
  bool IsUnseen() const;
  absl::Status RingIfUnseen();

  std::atomic<uint64_t> messages_read_ = 0;
  std::atomic<uint32_t> peer_seen_ = 0;  // wire::MessageHeader::seen of the peer's last message
  Consumption consumption_;

  // The sender's place.
  schedule::Credits credits_{schedule::kDefaultCredits, /*active=*/true};
  wire::Control own_{.open = true};   // what this end says of itself; the peer has heard told_
  wire::Control told_{.open = true};  // the last line posted
  wire::Control peer_;                // the last line looked at
  Owes owes_ = Owes::kNothing;
  uint64_t answered_ = 0;    // up to which the peer's `wanted` were told to it
  uint64_t unrung_ = 0;      // the tail behind what went without a notification last; kUnseen: a line did; 0: nothing
  uint64_t flush_mark_ = 0;  // messages posted when a completion was asked for last
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_RING_CHANNEL_H_
