// The memory that the two ends of a channel share, one sealed memfd:
//
//   page 0           Control: an End of the passive side, an End of the active side
//   then R bytes     the FIFO that the passive side writes
//   then R bytes     the FIFO that the active side writes;  R: Answer::ring.size, a multiple of wire::kRingGranule
//
// An End is written by its owner alone, but for `sleeps`, which the peer takes down by an exchange. The peer may write
// anything anywhere: each word is loaded once and checked, and what an end has written itself it knows from private
// copies.
//
// Positions count bytes since the start, in units of 64, and never wrap. A FIFO holds messages one behind the other,
// each in one piece:
//
//   message = u32 bytes (of the items) | u32 items | u64 stage time | items (core/wire/message.h) | padding to 64
//   marker  = u32 kMarker | u32 0 | u64 0 | padding to 64:  the next message lies at the beginning of the FIFO
//
// Only the writer knows how far it goes before it returns to the beginning: the reader follows the markers. So the
// writer can begin with the first kFirstBytes of the FIFO, take more when messages lie unread there, and give it back.
#ifndef SKEIN_CORE_CHANNEL_SHM_LAYOUT_H_
#define SKEIN_CORE_CHANNEL_SHM_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace skein::channel::shm {

inline constexpr size_t kPageBytes = 4096;
// A whole number of cache lines: what the writer lays never shares a line with what the reader reads.
inline constexpr size_t kUnit = 64;
// Of each FIFO, reserved when the channel is made.
inline constexpr size_t kFirstBytes = size_t{16} << 10;

// kBroken: the peer has broken the protocol. kUnable: the kernel has refused the owner a call or a descriptor.
enum class EndState : uint32_t { kOpen = 0, kClosed = 1, kBroken = 2, kUnable = 3 };

struct End {
  // As writer: of its own FIFO. One line, which the peer loads with each message.
  alignas(64) std::atomic<uint64_t> published;  // release; the peer's reader acquires: the message is there
  // 1 + the position up to which the peer must have consumed before it wakes this end; 0: need not. handover.h.
  std::atomic<uint64_t> wakes_at;
  // As reader: of the peer's FIFO.
  alignas(64) std::atomic<uint64_t> consumed;  // release; the peer's writer acquires: the space is free
  // Seldom written: both ends keep the line.
  alignas(64) std::atomic<uint32_t> sleeps;  // handover.h
  std::atomic<uint32_t> state;               // EndState; release; the peer acquires: what was published before is there
  std::atomic<uint32_t> socket_messages;     // release, after sendmsg: tells a polling peer to look at the socket
};

struct Control {
  End ends[2];
};

// Zeroed memory is a valid new Control.
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);
static_assert(sizeof(End) == 3UL * 64 && sizeof(Control) <= kPageBytes);

struct MessageHeader {
  uint32_t bytes = 0;
  uint32_t items = 0;
  uint64_t stage_time = 0;
};
static_assert(sizeof(MessageHeader) == 16);
inline constexpr uint32_t kMarker = ~uint32_t{0};

// Of a message whose items take `bytes`.
constexpr size_t Footprint(size_t bytes) { return (sizeof(MessageHeader) + bytes + kUnit - 1) & ~(kUnit - 1); }
constexpr size_t FifoOffset(int end, size_t ring_bytes) { return kPageBytes + static_cast<size_t>(end) * ring_bytes; }
constexpr size_t SharedBytes(size_t ring_bytes) { return kPageBytes + 2 * ring_bytes; }

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_LAYOUT_H_
