// How a channel of rings comes about, what its queue pair reports, and how it ends: one reliable queue pair, the ring
// and the control line that the peer writes, and the writer of the peer's.
//
// | atomic | written | pairs with |
// |---|---|---|
// | met_ | when this end knows where to write, release, once | acquire in met(): writer() is there, and stays |
// | failed_ | by whoever looks at the completion queue, or ends it, release | acquire in connected() |
// | renewal_ | by whoever looks at the completion queue, release | acquire in TakeRenewal |
// | reached_ | the same, relaxed | none: a count that is compared, and compared again when it moves |
#ifndef SKEIN_CORE_CHANNEL_RING_RING_CONNECTION_H_
#define SKEIN_CORE_CHANNEL_RING_RING_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "core/base/mutex.h"
#include "core/channel/channel.h"
#include "core/channel/ring/handover.h"
#include "core/channel/ring/ring_group.h"
#include "core/channel/ring/ring_reader.h"
#include "core/channel/ring/ring_writer.h"

namespace skein::channel {

class RingConnection : public Channel {
 public:
  absl::StatusOr<std::string> Offer() final { return queue_pair_->Offer(); }
  absl::StatusOr<Answer> Accept(absl::string_view offer) final;
  absl::Status Complete(const Answer& answer) final;
  std::string Greeting() const final { return wire::EncodeRingDescriptor(OwnRing()); }
  absl::Status OnGreeting(absl::string_view greeting) final;
  bool met() const final { return met_.load(std::memory_order_acquire); }

  uint64_t capacity() const final { return options_.ring_bytes; }
  bool Ended() final;
  void Close() final { queue_pair_->Close(); }
  void Disconnect() final { failed_.store(true, std::memory_order_release); }
  bool connected() const final { return !failed_.load(std::memory_order_acquire); }
  bool peer_broke_protocol() const final;
  absl::Status why_ended() const final;
  bool StillConnected() final { return queue_pair_->RefreshState() != fabric::QueuePairState::kError; }

  absl::Status PostOperations(absl::Span<const fabric::SendRequest> operations) final;
  bool TakeRenewal() final { return renewal_waits() && renewal_.exchange(false, std::memory_order_acquire); }
  bool renewal_waits() const final { return renewal_.load(std::memory_order_acquire); }

  // By the group, under its lock. Whether it is of a request that this end has posted: there is space for another.
  bool OnCompletion(const fabric::Completion& completion);

 protected:
  // `group` outlives it.
  RingConnection(RingGroup& group, std::unique_ptr<fabric::QueuePair> queue_pair, const ChannelOptions& options);
  ~RingConnection() override;

  // The peer has broken the protocol. Any thread.
  void ProtocolError(absl::string_view what);

  RingGroup& group() const { return group_; }
  const ChannelOptions& options() const { return options_; }
  // Messages known to have reached the peer.
  uint64_t reached() const { return reached_.load(std::memory_order_relaxed); }
  // The sender's place: posts, and once more if completions have made space in the send queue.
  absl::Status WithSpace(absl::FunctionRef<absl::Status()> post);
  // The sender's place: a queue pair that takes no more posts is of no use. The poller learns that, and ends the link.
  void EndIfBroken(const absl::Status& status);
  // The poller's; null before this end is connected.
  RingReader* reader() const { return reader_.get(); }
  // Both are the sender's place's, once met; the poller may ask for news().
  RingWriter& writer() const { return *writer_; }
  PeerControl& peer_control() const { return *peer_control_; }

 private:
  absl::Status AllocateRing();
  absl::Status Meet(const wire::RingDescriptor& peer_ring);
  wire::RingDescriptor OwnRing() const;
  void OnImmediate(uint32_t immediate);

  RingGroup& group_;
  const ChannelOptions options_;
  std::unique_ptr<fabric::MemoryRegion> ring_;     // and behind it the control line: the peer writes both
  std::unique_ptr<fabric::QueuePair> queue_pair_;  // until this object goes
  uint64_t ring_secret_ = 0;
  std::unique_ptr<fabric::MemoryRegion> staging_;  // the passive side's, for its writer, until it has met its peer
  std::unique_ptr<RingReader> reader_;
  std::unique_ptr<PeerControl> peer_control_;
  std::unique_ptr<RingWriter> writer_;  // none before it knows where to write

  std::atomic<uint64_t> reached_ = 0;
  std::atomic<bool> renewal_ = false;  // the peer asks for more credits
  std::atomic<bool> failed_ = false;
  std::atomic<bool> met_ = false;
  mutable Mutex error_mu_;  // a leaf
  std::string protocol_error_ ABSL_GUARDED_BY(error_mu_);
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_RING_CONNECTION_H_
