// Writes messages into a peer's ring: one WRITE each. Not thread-safe: used in the sender's place.
#ifndef SKEIN_CORE_CHANNEL_RING_RING_WRITER_H_
#define SKEIN_CORE_CHANNEL_RING_RING_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/channel/out_item.h"
#include "core/fabric/fabric.h"
#include "core/wire/control.h"
#include "core/wire/message.h"
#include "core/wire/ring_descriptor.h"

namespace skein::channel {

// How a message, or what this end says of itself, is posted.
struct Posting {
  bool rings = true;  // as a WRITE_WITH_IMM, which its reader can sleep for; else as a WRITE, for who polls
  uint32_t immediate = 0;
  bool signaled = false;  // asks for the completion, which some requests have anyway
};

// What must be left free: so that a full ring can still be told of closes and windows: two full rings would otherwise
// wait for each other.
enum class Reserve : uint32_t { kControl = 0, kData = 4096 };

// Requests that a queue pair may have outstanding. A device may read each one's source late: so each control line that
// may be under way has a place of its own, behind the ring's staging buffer.
inline constexpr uint32_t kSends = 128;
constexpr uint64_t StagingBytes(uint64_t ring_bytes) { return ring_bytes + kSends * sizeof(wire::ControlLine); }

inline constexpr uint64_t kMaxStagingBytes = uint64_t{64} << 20;

class RingWriter {
 public:
  // Posts from a staging buffer as large as the peer's ring, for the device reads sources after the post. Allocates it
  // unless `staging` is large enough. RESOURCE_EXHAUSTED when that takes more than `max_staging_bytes`: the peer chose
  // its ring's size. `queue_pair` outlives it.
  static absl::StatusOr<std::unique_ptr<RingWriter>> Create(fabric::Device& device, fabric::QueuePair& queue_pair,
                                                            const wire::RingDescriptor& ring,
                                                            uint64_t max_staging_bytes = kMaxStagingBytes,
                                                            std::unique_ptr<fabric::MemoryRegion> staging = nullptr);

  // Bytes of items that one message could carry now; 0 when none fits.
  size_t Space(Reserve reserve) const;
  // Payload of an item that goes alone, given space enough.
  size_t LargestItem() const {
    return max_message_bytes_ - wire::MessageBytes(0) - sizeof(wire::ItemHeader) - wire::kMessageUnit;
  }
  // What Space never needs to exceed.
  size_t MostSpace() const { return wire::ItemBytes(LargestItem()); }
  // Puts a message together. `seen`: bytes of its own ring that this end has consumed. RESOURCE_EXHAUSTED when it does
  // not fit (see Space). The payloads stay until Post. Until that has succeeded, nothing has happened: another message
  // may be laid.
  absl::Status Lay(absl::Span<OutItem> items, Reserve reserve, uint64_t seen = 0);
  // Of what was laid: when it is posted.
  void Stamp(uint64_t stage_time);
  // Posts what was laid; before it, with the same doorbell, what this end says of itself. RESOURCE_EXHAUSTED when
  // the send queue is full: try again after polling. Other errors are the queue pair's. The request's id is the number
  // of messages posted with it.
  absl::Status Post(const Posting& posting, const wire::Control* says = nullptr);
  // Posts what this end says of itself, into the line behind the peer's ring. Errors as Post's.
  absl::Status Say(const wire::Control& control, const Posting& posting);
  // Notifies the peer of what was posted without: a WRITE_WITH_IMM of no bytes, with the id of the last message. Errors
  // as Post's.
  absl::Status Ring();
  // Messages posted so far.
  uint64_t posted() const { return number_; }
  // Bytes of the ring used so far, since the start; and of these, consumed by the peer.
  uint64_t tail() const { return tail_; }
  uint64_t peer_head() const { return peer_head_; }
  uint64_t ring_bytes() const { return ring_.size; }
  // The peer's word on what it has consumed. DATA_LOSS when it cannot be true.
  absl::Status SetPeerHead(uint64_t head);

 private:
  RingWriter(const fabric::DeviceCapabilities& capabilities, fabric::QueuePair& queue_pair,
             const wire::RingDescriptor& ring, std::unique_ptr<fabric::MemoryRegion> staging);

  size_t Free(Reserve reserve) const;
  size_t ToEnd() const { return ring_.size - tail_ % ring_.size; }
  std::byte* InStaging(uint64_t position) const { return staging_->bytes().data() + position % ring_.size; }
  void LayWrap();
  void Encode(absl::Span<OutItem> items, uint64_t seen);
  void Fill(fabric::SendRequest& request, bool rings, uint64_t offset, const fabric::Segment& segment,
            uint64_t id) const;
  absl::Status PostBehind(const fabric::SendRequest& message, const Posting& posting, const wire::Control* says);
  fabric::Segment Stage(const wire::Control& control);
  absl::Status Submit(absl::Span<fabric::SendRequest> batch, const Posting& posting);

  fabric::QueuePair& queue_pair_;
  const wire::RingDescriptor ring_;
  const wire::Canaries canaries_;
  const size_t max_message_bytes_;
  const std::unique_ptr<fabric::MemoryRegion> staging_;  // StagingBytes of the ring, or more

  uint64_t tail_ = 0;       // bytes written since the start, skipped ends included
  uint64_t peer_head_ = 0;  // of these, consumed
  uint64_t number_ = 0;     // of the next message
  uint32_t unsignaled_ = 0;
  uint32_t said_ = 0;  // control lines posted

  // The message that is laid: where it begins and how long it is; where not at tail_, it comes after a wrap.
  uint64_t position_ = 0;
  size_t bytes_ = 0;
  fabric::Segment wrap_;
  fabric::Segment message_;
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_RING_WRITER_H_
