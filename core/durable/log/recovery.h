// What a log's bytes say, whatever they are.
#ifndef SKEIN_CORE_DURABLE_LOG_RECOVERY_H_
#define SKEIN_CORE_DURABLE_LOG_RECOVERY_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/durable/log/entry.h"
#include "core/durable/log/head_slot.h"
#include "core/durable/log/log_header.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

struct Recovered {
  LogHeader header;
  HeadSlot slot;         // the newest
  uint64_t tail = 0;     // where entries end
  uint64_t settled = 0;  // an entry says that all before this was persisted once
  uint32_t epoch = 0;    // the highest there is
};

// An error ends the scan, and is its result.
using EntryVisitor = absl::FunctionRef<absl::Status(const Entry& entry)>;

// Shows all entries from the head on, but pads, up to the first that is not whole: what is behind it was never told to
// be persisted. Only reads. Errors: ReadLogHeader's and ReadHeadSlots's; DATA_LOSS if entries are missing that were
// once persisted, as far as a later one proves that.
absl::StatusOr<Recovered> Recover(const Storage& storage, EntryVisitor visit);

// Reads the entry at `position` into `payload`, and checks it. DATA_LOSS: none is there.
absl::StatusOr<Entry> ReadEntry(const Storage& storage, const LogId& identity, uint64_t position, std::string& payload);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_RECOVERY_H_
