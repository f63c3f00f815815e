// What the ledger's entries in the log say. FORMAT.md has the table.
#ifndef SKEIN_CORE_DURABLE_LEDGER_KINDS_H_
#define SKEIN_CORE_DURABLE_LEDGER_KINDS_H_

#include <cstdint>

#include "core/durable/log/entry.h"

namespace skein::durable {

inline constexpr EntryKind kRequest = 1;   // payload: the request
inline constexpr EntryKind kOutcome = 2;   // it was executed; payload: with what outcome
inline constexpr EntryKind kCarried = 3;   // payload: where it was first, and an outcome again
inline constexpr EntryKind kFinished = 4;  // it was executed, and the outcome has been let go
inline constexpr EntryKind kMark = 5;      // so were all of this client's up to this sequence
inline constexpr EntryKind kForget = 6;    // whatever stands before of this client counts no more

// The tag of requests and marks: how far the sequence is ahead of those whose outcomes the client has. 0: too far to
// say.
constexpr uint16_t AheadTag(uint64_t sequence, uint64_t acknowledged) {
  const uint64_t ahead = sequence + 1 - acknowledged;
  return ahead <= UINT16_MAX ? static_cast<uint16_t>(ahead) : 0;
}
constexpr uint64_t AcknowledgedBy(const Entry& entry) {
  return entry.tag == 0 || entry.tag > entry.sequence + 1 ? 0 : entry.sequence + 1 - entry.tag;
}

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_KINDS_H_
