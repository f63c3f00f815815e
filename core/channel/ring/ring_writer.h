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
#include "core/wire/message.h"
#include "core/wire/ring_descriptor.h"

namespace skein::channel {

// What a message says apart from its items.
struct Envelope {
  uint64_t head = 0;   // how much this end has consumed of its own ring
  uint16_t flags = 0;  // wire::MessageFlags, but for kWrap
};

// How a message is posted.
struct Posting {
  bool rings = true;  // as a WRITE_WITH_IMM, which its reader can sleep for; else as a WRITE, for who polls
  uint32_t immediate = 0;
  bool signaled = false;  // asks for the completion, which some requests have anyway
};

// What must be left free: so that a full ring can still be told of closes and windows, and, last of all, of heads:
// two full rings would otherwise wait for each other.
enum class Reserve : uint32_t { kHead = 0, kControl = 256, kData = 4096 };

inline constexpr uint64_t kMaxMirrorBytes = uint64_t{64} << 20;

class RingWriter {
 public:
  // Allocates a mirror of the peer's ring to post from, for the device reads sources after the post, unless `mirror` is
  // large enough. RESOURCE_EXHAUSTED when that takes more than `max_mirror_bytes`: the peer chose its ring's size.
  // `queue_pair` outlives it.
  static absl::StatusOr<std::unique_ptr<RingWriter>> Create(fabric::Device& device, fabric::QueuePair& queue_pair,
                                                            const wire::RingDescriptor& ring,
                                                            uint64_t max_mirror_bytes = kMaxMirrorBytes,
                                                            std::unique_ptr<fabric::MemoryRegion> mirror = nullptr);

  // Bytes of items that one message could carry now; 0 when none fits.
  size_t Room(Reserve reserve) const;
  // Payload of an item that goes alone, given room enough.
  size_t LargestItem() const {
    return max_message_bytes_ - wire::MessageBytes(0) - sizeof(wire::ItemHeader) - wire::kMessageUnit;
  }
  // Puts a message together. RESOURCE_EXHAUSTED when it does not fit (see Room). The payloads stay until Post. Until
  // that has succeeded, nothing has happened: another message may be laid.
  absl::Status Lay(absl::Span<OutItem> items, const Envelope& envelope, Reserve reserve);
  // Of what was laid: when it is posted.
  void Stamp(uint64_t stage_time);
  // Posts what was laid. RESOURCE_EXHAUSTED when the send queue is full: try again after polling. Other errors are the
  // queue pair's. The request's id is the number of messages posted with it.
  absl::Status Post(const Posting& posting);
  // Rings the bell for what was posted without: a WRITE_WITH_IMM of no bytes, with the id of the last message. Errors
  // as Post's.
  absl::Status Ring();
  absl::Status Write(absl::Span<OutItem> items, const Envelope& envelope, Reserve reserve, const Posting& posting = {});
  // Messages posted so far.
  uint64_t posted() const { return number_; }
  // Bytes of the ring used so far, since the start; and of these, consumed by the peer.
  uint64_t tail() const { return tail_; }
  uint64_t peer_head() const { return peer_head_; }
  // The peer's word on what it has consumed. DATA_LOSS when it cannot be true.
  absl::Status SetPeerHead(uint64_t head);

 private:
  RingWriter(const fabric::DeviceCapabilities& capabilities, fabric::QueuePair& queue_pair,
             const wire::RingDescriptor& ring, std::unique_ptr<fabric::MemoryRegion> mirror);

  size_t Free(Reserve reserve) const;
  size_t ToEnd() const { return ring_.size - tail_ % ring_.size; }
  std::byte* InMirror(uint64_t position) const { return mirror_->bytes().data() + position % ring_.size; }
  void LayWrap(const Envelope& envelope);
  void Encode(absl::Span<OutItem> items, const Envelope& envelope);
  void AppendItem(OutItem& item);
  void Append(const void* data, size_t size);

  fabric::QueuePair& queue_pair_;
  const wire::RingDescriptor ring_;
  const wire::Canaries canaries_;
  const size_t max_message_bytes_;
  const std::unique_ptr<fabric::MemoryRegion> mirror_;  // as long as the ring, or longer

  uint64_t tail_ = 0;       // bytes written since the start, skipped ends included
  uint64_t peer_head_ = 0;  // of these, consumed
  uint64_t number_ = 0;     // of the next message
  uint32_t unsignaled_ = 0;

  // The message that is laid: where it begins and how long it is; where not at tail_, it comes after a wrap.
  uint64_t position_ = 0;
  size_t bytes_ = 0;
  fabric::Segment wrap_;
  fabric::Segment message_;
  std::byte* at_ = nullptr;  // in the mirror: how far the message has been put together
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_RING_WRITER_H_
