// What the ledger's entries in the log say. FORMAT.md has the table.
#ifndef SKEIN_CORE_DURABLE_LEDGER_KINDS_H_
#define SKEIN_CORE_DURABLE_LEDGER_KINDS_H_

#include "core/durable/log/entry.h"

namespace skein::durable {

inline constexpr EntryKind kRequest = 1;   // payload: the request
inline constexpr EntryKind kOutcome = 2;   // it was executed; payload: with what outcome
inline constexpr EntryKind kCarried = 3;   // an outcome again, whose first entry is about to be written over
inline constexpr EntryKind kFinished = 4;  // it was executed, and the outcome has been let go
inline constexpr EntryKind kMark = 5;      // so were all of this client's up to this sequence
inline constexpr EntryKind kForget = 6;    // whatever stands before of this client counts no more

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_KINDS_H_
