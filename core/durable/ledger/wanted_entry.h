// Whose an entry in the log is that is still wanted.
#ifndef SKEIN_CORE_DURABLE_LEDGER_WANTED_ENTRY_H_
#define SKEIN_CORE_DURABLE_LEDGER_WANTED_ENTRY_H_

#include <cstdint>

#include "absl/container/btree_map.h"
#include "core/durable/log/entry.h"

namespace skein::durable {

struct Wanted {
  ClientId client;
  uint64_t sequence;
  EntryKind kind;
};
using WantedEntries = absl::btree_map<uint64_t, Wanted>;  // by position

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_WANTED_ENTRY_H_
