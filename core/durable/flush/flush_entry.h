// An entry of a flush ring as the sender makes it and the receiver finds it. FORMAT.md draws it.
#ifndef SKEIN_CORE_DURABLE_FLUSH_FLUSH_ENTRY_H_
#define SKEIN_CORE_DURABLE_FLUSH_FLUSH_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/durable/flush/ring_layout.h"
#include "core/durable/log/identity.h"

namespace skein::durable {

struct FlushHeader {
  uint64_t stamp = 0;  // of this ring and this sequence, and no other
  uint64_t sequence = 0;
  uint64_t settled = 0;  // the sender knew this far to be acknowledged
  ClientId client{};
  uint32_t size = 0;   // of the payload
  uint32_t epoch = 0;  // the ring's opening that it was sent to
  uint64_t reserved = 0;
  uint64_t operator_word = 0;  // checksum of all else and the payload; the sequence's lower half << 32
};
static_assert(sizeof(FlushHeader) == kFlushHeaderBytes);

// A WRITE's last word lands last, so there the header ends the slot and the payload ends at it. A SEND lands at the
// slot's beginning, and its length is known when it has arrived: there the header is first.
enum class HeaderPlace : uint8_t { kLast = 1, kFirst = 2 };

// Which ring, and which of its openings.
struct RingKey {
  LogId identity{};
  uint32_t epoch = 0;
};

struct FlushEntry {
  uint64_t sequence = 0;
  uint64_t settled = 0;
  ClientId client{};
  uint32_t epoch = 0;
  std::string payload;
};

// Puts the entry into `slot` (shape.slot_bytes of memory) where it lies in the ring, too. Returns the part of the slot
// that it takes, which is what goes over the wire. The payload fits.
absl::Span<std::byte> MakeFlushEntry(absl::Span<std::byte> slot, HeaderPlace place, const RingKey& key,
                                     const ClientId& client, uint64_t sequence, uint64_t settled,
                                     absl::string_view payload);

// The word that changes last when a WRITE has brought the entry of a slot.
constexpr size_t OperatorWordOffset(size_t slot_bytes) { return slot_bytes - sizeof(uint64_t); }
// Whether the word is that of an entry with this sequence, as far as a word can tell.
constexpr bool WordIsOf(uint64_t operator_word, uint64_t sequence) {
  return static_cast<uint32_t>(operator_word >> 32) == static_cast<uint32_t>(sequence);
}
// A word that is not. 0 is one of sequence 2^32.
constexpr uint64_t WordOfNone(uint64_t sequence) { return ~sequence << 32; }

// The entry with this sequence, if it is there and whole. `slot` may change while it is read and may hold anything:
// what is returned was copied before it was checked. The epoch is checked only if key.epoch is not 0.
std::optional<FlushEntry> TakeFlushEntry(absl::Span<const std::byte> slot, HeaderPlace place, const RingKey& key,
                                         uint64_t sequence);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_FLUSH_ENTRY_H_
