// The memory two connected queue pairs share for everything but payload of one-sided requests.
//
//   Control = Side[0] (passive), Side[1] (active). A side is written by its owner alone, but for the two flags that the
//   peer takes down by an exchange. The peer may write anything anywhere: each word is loaded once and checked, own
//   positions are kept privately and only published here.
//
// Mailbox: a byte queue of records, `tail` and `head` count bytes since the start and never wrap.
//
//   record = u16 kind | u16 solicited | u32 size (payload bytes) | u32 immediate | u32 total (of a WRITE_WITH_IMM)
//            | payload, to 16
#ifndef SKEIN_CORE_FABRIC_SHM_CONTROL_H_
#define SKEIN_CORE_FABRIC_SHM_CONTROL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace skein::fabric::shm {

inline constexpr size_t kMailboxBytes = size_t{32} << 10;
inline constexpr size_t kMaxFragmentBytes = size_t{8} << 10;

// kBroken: the peer has broken the protocol. kUnable: the kernel has refused the owner a call or a descriptor.
enum class SideState : uint32_t { kOpen = 0, kClosed = 1, kSendTooLong = 2, kBroken = 3, kUnable = 4 };

// Side::receives of an end that shares its receives: none is this connection's before a message has met it.
inline constexpr uint64_t kShared = ~uint64_t{0};

// For which records a sleeper is to be rung.
enum Armed : uint32_t { kNotArmed = 0, kForRecords = 1, kForSolicited = 2 };

struct Side {
  // Written by the owner as producer.
  alignas(64) std::atomic<uint64_t> tail;  // release; the peer's consumer acquires
  std::atomic<uint64_t> socket_messages;   // release, after sendmsg: tells a polling peer to look at the socket
  std::atomic<uint32_t> state;             // SideState; release
  // Written by the owner as consumer.
  alignas(64) std::atomic<uint64_t> head;  // release; the peer's producer acquires
  std::atomic<uint64_t> receives;          // posted since the start, or kShared; release, the peer's producer acquires
  // Set by the owner before it sleeps, taken down by the peer that rings, or by the owner when it polls again. Both
  // sides put a sequentially consistent fence between their store and their load (Dekker): owner "armed, then tail",
  // peer "tail, then armed".
  alignas(64) std::atomic<uint32_t> armed;  // Armed
  // The same for the owner as producer: it waits for head (room, or a SEND's end) or for receives to move.
  std::atomic<uint32_t> waits_for_head;
  alignas(64) std::byte mailbox[kMailboxBytes];
};

struct Control {
  Side sides[2];
};

// Zeroed memory is a valid new Control.
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);
static_assert(sizeof(Control) % 64 == 0 && sizeof(Control) < (size_t{80} << 10));

inline constexpr size_t kControlBytes = (sizeof(Control) + 4095) & ~size_t{4095};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_CONTROL_H_
