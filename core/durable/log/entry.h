// An entry as it lies in the ring.
#ifndef SKEIN_CORE_DURABLE_LOG_ENTRY_H_
#define SKEIN_CORE_DURABLE_LOG_ENTRY_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/durable/log/identity.h"
#include "core/durable/log/layout.h"

namespace skein::durable {

// What those above the log say by an entry; the log looks at 0 only.
using EntryKind = uint8_t;
inline constexpr EntryKind kPad = 0;  // the log's own: nothing more before the ring's end

struct EntryHeader {
  uint64_t operator_word = 0;  // written last, at once: with it the entry is one. Checksum, and epoch << 32
  uint64_t stamp = 0;          // of this log and this position, and no other
  uint64_t settled = 0;        // position up to which all was persisted when this was written
  ClientId client{};
  uint64_t sequence = 0;
  uint32_t size = 0;  // of the payload
  EntryKind kind = kPad;
  uint8_t reserved = 0;
  uint16_t tag = 0;  // as the kind
};
static_assert(sizeof(EntryHeader) == 56);

// As those above the log see it. The payload is good until the call that was given it returns.
struct Entry {
  uint64_t position = 0;
  EntryKind kind = kPad;
  ClientId client{};
  uint64_t sequence = 0;
  uint16_t tag = 0;
  absl::string_view payload;
};

// In the ring.
constexpr uint64_t EntryBytes(uint64_t payload) {
  return (sizeof(EntryHeader) + payload + kEntryUnit - 1) / kEntryUnit * kEntryUnit;
}
// Also of a pad, whose payload is never written.
inline uint64_t EntryBytes(const EntryHeader& header) { return EntryBytes(header.size); }

// What an entry at `position` begins with. Keyed with the log's identity, which no client knows: neither what an
// earlier lap has left nor bytes that a client put into its request are an entry.
uint64_t Stamp(const LogId& identity, uint64_t position);

// With its operator word; a pad's payload does not count.
EntryHeader MakeEntryHeader(const LogId& identity, uint64_t settled, uint32_t epoch, const Entry& entry);
EntryHeader MakePad(const LogId& identity, uint64_t settled, uint32_t epoch, uint64_t position, uint64_t bytes);

constexpr uint32_t EpochOf(const EntryHeader& header) { return static_cast<uint32_t>(header.operator_word >> 32); }
// Whether the checksum is that of the header and payload. Of a pad, without its payload.
bool ChecksumHolds(const EntryHeader& header, absl::string_view payload);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_ENTRY_H_
