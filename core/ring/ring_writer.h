// Writes messages into a peer's ring: one WRITE each. Not thread-safe: used under the link's sending lock.
#ifndef SKEIN_CORE_RING_RING_WRITER_H_
#define SKEIN_CORE_RING_RING_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/wire/message.h"
#include "core/wire/ring_descriptor.h"

namespace skein::ring {

// An item on its way out; its header's size is set by the writer.
struct OutItem {
  wire::ItemHeader header;
  absl::Span<const absl::Span<const std::byte>> payload;  // gathered
};

// What must be left free: so that a full ring can still be told of closes and windows, and, last of all, of heads:
// two full rings would otherwise wait for each other.
enum class Reserve : uint32_t { kHead = 0, kControl = 256, kData = 4096 };

inline constexpr uint64_t kMaxMirrorBytes = uint64_t{64} << 20;

class RingWriter {
 public:
  // Where the device reads sources late, allocates a mirror of the peer's ring to post from; RESOURCE_EXHAUSTED when
  // that takes more than `max_mirror_bytes`: the peer chose its ring's size. `queue_pair` outlives it.
  static absl::StatusOr<std::unique_ptr<RingWriter>> Create(fabric::Device& device, fabric::QueuePair& queue_pair,
                                                            const wire::RingDescriptor& ring,
                                                            uint64_t max_mirror_bytes = kMaxMirrorBytes);

  // Bytes of items that one message could carry now; 0 when none fits.
  size_t Room(Reserve reserve) const;
  // `head`: how much this end has consumed of its own ring, told along. RESOURCE_EXHAUSTED when the message does not
  // fit (see Room) or the send queue is full; other errors are the queue pair's.
  // The request's id is the number of messages posted with it; `signaled` asks for its completion, which some have
  // anyway.
  absl::Status Write(absl::Span<OutItem> items, uint64_t head, Reserve reserve, bool signaled = false);
  // Messages posted so far.
  uint64_t posted() const { return number_; }
  // The peer's word on what it has consumed. DATA_LOSS when it cannot be true.
  absl::Status SetPeerHead(uint64_t head);

 private:
  RingWriter(const fabric::DeviceCapabilities& capabilities, fabric::QueuePair& queue_pair,
             const wire::RingDescriptor& ring);

  size_t Free(Reserve reserve) const;
  size_t ToEnd() const { return ring_.size - tail_ % ring_.size; }
  void Encode(absl::Span<OutItem> items, uint64_t head, size_t message_bytes, uint64_t number);
  void Append(const void* data, size_t size);
  void AppendPayload(absl::Span<const std::byte> bytes);
  fabric::SendRequest Request(uint64_t position) const;

  fabric::QueuePair& queue_pair_;
  const wire::RingDescriptor ring_;
  const wire::Canaries canaries_;
  const size_t max_message_bytes_;
  std::unique_ptr<fabric::MemoryRegion> mirror_;  // null where posts copy

  uint64_t tail_ = 0;       // bytes written since the start, skipped ends included
  uint64_t peer_head_ = 0;  // of these, consumed
  uint64_t number_ = 0;     // of the next message
  uint32_t unsignaled_ = 0;

  // The message being put together, without a mirror: headers and small payloads in `scratch_`, runs of it and large
  // payloads in `segments_`. With one: `at_` walks along the mirror.
  std::vector<std::byte> scratch_;
  std::vector<fabric::Segment> segments_;
  std::byte* at_ = nullptr;
};

}  // namespace skein::ring

#endif  // SKEIN_CORE_RING_RING_WRITER_H_
