// Messages and items as they lie in a ring: FORMAT.md as structs.
#ifndef SKEIN_CORE_WIRE_MESSAGE_H_
#define SKEIN_CORE_WIRE_MESSAGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace skein::wire {

inline constexpr size_t kMessageUnit = 64;  // alignment and granularity of messages, bytes
inline constexpr size_t kMaxAbortTextBytes = 256;

inline constexpr uint32_t kWrap =
    UINT32_MAX;  // as a number of items: none, and the next message is at the ring's start

struct MessageHeader {
  uint64_t length_and_canary = 0;
  uint32_t items = 0;
  uint32_t seen = 0;  // units of its own ring that the writer has consumed, modulo 2^32: these need no notification
  uint64_t stage_time = 0;
};
static_assert(sizeof(MessageHeader) == 24);

// A message's stage time: when it was posted, in ns of the sender's CLOCK_MONOTONIC; 0 if nobody traces. The lowest bit
// says whether the sender traces, or does it for a receiver who does: or two would do it for each other for ever.
constexpr uint64_t StageTime(uint64_t now, bool sender_traces) {
  return (now & ~uint64_t{1}) | (sender_traces ? 1 : 0);
}
constexpr bool SenderTraces(uint64_t stage_time) { return (stage_time & 1) != 0; }

enum class ItemKind : uint8_t {
  kHello = 1,
  kOpen,
  kData,
  kWindow,
  kCloseWrite,
  kAbort,
  kBye,
  kBlock,
  kPulled,
};

struct ItemHeader {
  uint32_t stream = 0;
  uint32_t size = 0;
  uint32_t sequence = 0;
  ItemKind kind = ItemKind::kData;
  uint8_t flags = 0;
  uint16_t reserved = 0;
};
static_assert(sizeof(ItemHeader) == 16);

constexpr size_t PaddedPayload(size_t size) { return (size + 7) & ~size_t{7}; }
// In the message: header and padded payload.
constexpr size_t ItemBytes(size_t payload) { return sizeof(ItemHeader) + PaddedPayload(payload); }
// Of a whole message whose items take `items` bytes.
constexpr size_t MessageBytes(size_t items) {
  return (sizeof(MessageHeader) + items + sizeof(uint64_t) + kMessageUnit - 1) & ~(kMessageUnit - 1);
}

// SplitMix64's: who does not know the secret in x cannot tell the next from the last.
uint64_t Mix(uint64_t x);

// The words by which a reader knows message n of its ring.
class Canaries {
 public:
  explicit Canaries(uint64_t secret) : secret_(secret) {}
  uint64_t Tail(uint64_t n) const { return Mix(secret_ + n * kStep); }
  uint64_t HeadWord(uint64_t n, size_t message_bytes) const { return HeadCanary(n) | (message_bytes / kMessageUnit); }
  // The length in bytes that `word` tells if it is the head word of message n; else 0.
  size_t Length(uint64_t n, uint64_t word) const {
    return (word & ~kLengthMask) == HeadCanary(n) ? (word & kLengthMask) * kMessageUnit : 0;
  }

 private:
  static constexpr uint64_t kLengthMask = 0xffff;
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t HeadCanary(uint64_t n) const { return Mix(~secret_ + n * kStep) & ~kLengthMask; }

  const uint64_t secret_;
};

struct Item {
  ItemHeader header;                    // a private copy, checked
  absl::Span<const std::byte> payload;  // still in the ring: copy before looking
};

// Walks the items of a message, reading each header once. The payloads may change under it, the walk may not.
class ItemWalk {
 public:
  // `area`: between the message's header and its tail canary.
  ItemWalk(uint32_t items, absl::Span<const std::byte> area) : left_(items), area_(area) {}
  bool done() const { return left_ == 0; }
  absl::StatusOr<Item> Next();

 private:
  uint32_t left_;
  absl::Span<const std::byte> area_;
};

}  // namespace skein::wire

#endif  // SKEIN_CORE_WIRE_MESSAGE_H_
