// FLOCK's ring (thesis 3.3) on a reliable connection: one queue pair, and a ring in each direction. A message is one
// WRITE into the peer's ring; a WRITE_WITH_IMM where the reader may sleep or credits are asked for. What each end has
// consumed, words on credits and whether it is awake travel in the headers of messages.
//
// Who owns what. The *sender's place* (whoever holds it: see channel.h) owns writer_, credits_, words_ and what was
// told the peer. The *poller* (the owner of the link's polling) owns reader_ and noted_. The poller notes what messages
// say of the channel as it reads them. AfterReading hands that over in handed_, and Heed takes it, in the sender's
// place: both under handed_mu_, a leaf. The same hand-over lets the sender tell the peer what was read: the poller has
// copied those bytes before.
//
// | atomic | written | pairs with |
// |---|---|---|
// | messages_read_, bytes_read_ | by the poller, relaxed | none: numbers for statistics |
// | met_ | when this end knows where to write, release, once | acquire in met(): writer_ is there, and stays |
// | failed_ | by whoever looks at the completion queue, or ends it, release | acquire in connected() |
// | renewal_ | the same | acquire in TakeRenewal |
// | reached_ | the same, relaxed | none: a count that is compared, and compared again when it moves |
#ifndef SKEIN_CORE_CHANNEL_RING_RING_CHANNEL_H_
#define SKEIN_CORE_CHANNEL_RING_RING_CHANNEL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "core/base/mutex.h"
#include "core/channel/channel.h"
#include "core/channel/ring/ring_group.h"
#include "core/channel/ring/ring_reader.h"
#include "core/channel/ring/ring_writer.h"
#include "core/schedule/credits.h"

namespace skein::channel {

class RingChannel final : public Channel {
 public:
  // `group` outlives it.
  RingChannel(RingGroup& group, std::unique_ptr<fabric::QueuePair> queue_pair, const ChannelOptions& options);
  ~RingChannel() override;

  absl::StatusOr<std::string> Offer() override { return queue_pair_->Offer(); }
  absl::StatusOr<Answer> Accept(absl::string_view offer) override;
  absl::Status Complete(const Answer& answer) override;
  std::string Greeting() const override;
  absl::Status OnGreeting(absl::string_view greeting) override;

  bool met() const override { return met_.load(std::memory_order_acquire); }
  size_t Room(Use use) override;
  size_t LargestItem() const override { return !met() ? 0 : writer_->LargestItem(); }
  absl::Status Lay(absl::Span<OutItem> items, Use use) override;
  absl::Status Publish(const Publication& publication) override;
  uint64_t written() const override { return !met() ? 0 : writer_->tail(); }
  uint64_t messages_written() const override { return !met() ? 0 : writer_->posted(); }
  absl::StatusOr<bool> Reached() override;
  absl::Status Heed() override;
  absl::Status Tend() override;
  bool tending() const override { return HasWords() || (unrung_ != 0 && MustRing()); }
  void TellPresence() override;
  void RingForUnseen() override;
  absl::Status PostOperations(absl::Span<const fabric::SendRequest> operations) override;

  absl::StatusOr<std::optional<InMessage>> Next() override;
  void Pop() override;
  bool Readable() const override;
  bool AfterReading() override;
  uint64_t messages_read() const override { return messages_read_.load(std::memory_order_relaxed); }
  uint64_t bytes_read() const override { return bytes_read_.load(std::memory_order_relaxed); }
  uint64_t capacity() const override { return options_.ring_bytes; }
  bool Ended() override;

  bool TakeRenewal() override { return renewal_waits() && renewal_.exchange(false, std::memory_order_acquire); }
  bool renewal_waits() const override { return renewal_.load(std::memory_order_acquire); }
  absl::Status AnswerRenewal(bool granted) override;
  void Activate() override;

  void Close() override { queue_pair_->Close(); }
  void Disconnect() override { failed_.store(true, std::memory_order_release); }
  bool connected() const override { return !failed_.load(std::memory_order_acquire); }
  bool breached() const override;
  absl::Status why_ended() const override;
  bool StillConnected() override { return queue_pair_->RefreshState() != fabric::QueuePairState::kError; }

  // By the group, under its lock. Whether it is of messages that this end has sent.
  bool OnCompletion(const fabric::Completion& completion);
  const fabric::QueuePair* queue_pair() const { return queue_pair_.get(); }

 private:
  // The peer's words on this channel, out of messages; and how much of the ring these were.
  struct Noted {
    uint64_t read = 0;
    uint64_t head = 0;
    std::optional<Presence> presence;
    absl::InlinedVector<uint16_t, 4> words;
  };

  absl::Status AllocateRing();
  absl::Status Meet(const wire::RingDescriptor& peer_ring);
  wire::RingDescriptor OwnRing() const;

  // The poller's.
  absl::Status Note(const wire::MessageHeader& header);
  void OnImmediate(uint32_t immediate);
  void Breach(absl::string_view what);

  // The sender's.
  struct Manner {
    bool signaled = false;
    bool silent = false;  // no bell, whoever sleeps
    uint64_t stage_time = 0;
  };
  absl::Status LayIn(absl::Span<OutItem> items, Reserve reserve);
  absl::Status Post(const Manner& manner);
  absl::Status PostHead(Reserve reserve, const Manner& manner);
  absl::Status WithRoom(absl::FunctionRef<absl::Status()> post);
  absl::Status HeedWord(uint16_t word);
  bool MustRing() const;
  absl::Status RingIfUnseen();
  bool HasWords() const { return !words_.empty() || credits_.renewal_due(); }
  absl::Status TellWords();
  void EndIfBroken(const absl::Status& status);

  RingGroup& group_;
  const ChannelOptions options_;
  std::unique_ptr<fabric::MemoryRegion> ring_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;  // until this object goes
  uint64_t ring_secret_ = 0;
  std::unique_ptr<fabric::MemoryRegion> mirror_;  // the passive side's, for its writer, until it has met its peer

  std::atomic<uint64_t> reached_ = 0;  // messages known to have reached the peer
  std::atomic<uint64_t> messages_read_ = 0;
  std::atomic<uint64_t> bytes_read_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> met_ = false;
  std::atomic<bool> renewal_ = false;  // the peer asks for more credits

  // The sender's, but for writer_, which connecting sets, once, before met_.
  std::unique_ptr<RingWriter> writer_;  // none before it knows where to write
  schedule::Credits credits_{schedule::kDefaultCredits, /*active=*/true};
  bool peer_may_send_ = true;                // data, by what it was told last
  std::deque<uint16_t> words_;               // on the peer's credits, as flags: one goes with each message
  uint64_t head_ = 0;                        // of this end: consumed up to the last Heed
  uint64_t told_head_ = 0;                   // the same, by the last message
  Presence told_ = Presence::kMaySleep;      // of this end, by the last message
  Presence presence_ = Presence::kMaySleep;  // of the peer, by its last message
  uint64_t unrung_ = 0;                      // the tail behind what went without a bell last; 0: none
  uint64_t flush_mark_ = 0;                  // messages posted up to the last one sent for Reached
  Envelope envelope_;                        // of the message that is laid

  // Of protocol, by the peer: by whoever looks at the completion queue.
  mutable Mutex breach_mu_;
  std::string breach_ ABSL_GUARDED_BY(breach_mu_);

  Mutex handed_mu_;
  Noted handed_ ABSL_GUARDED_BY(handed_mu_);  // since the last Heed

  // The poller's.
  std::unique_ptr<RingReader> reader_;
  Noted noted_;            // since the last AfterReading
  bool is_noted_ = false;  // the message that Next gives
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_RING_CHANNEL_H_
