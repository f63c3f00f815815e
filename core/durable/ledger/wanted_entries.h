// The ledger's entries in the log that are still wanted, and the space that must stay free for others.
#ifndef SKEIN_CORE_DURABLE_LEDGER_WANTED_ENTRIES_H_
#define SKEIN_CORE_DURABLE_LEDGER_WANTED_ENTRIES_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "core/durable/ledger/client_record.h"
#include "core/durable/ledger/ledger_options.h"
#include "core/durable/log/entry.h"
#include "core/durable/log/redo_log.h"
#include "core/trace/counters.h"

namespace skein::durable {

// Whose an entry is.
struct Wanted {
  ClientId client;
  uint64_t sequence;
  EntryKind kind;
};

// Not thread-safe: the ledger's lock guards it, and the clients.
class WantedEntries {
 public:
  using ByPosition = absl::btree_map<uint64_t, Wanted>;

  // The options and the clients outlive it. The log ends first: its end calls back, and nobody asks it afterwards.
  WantedEntries(const LedgerOptions& options, const Clients& clients, RedoLog& log)
      : options_(options), clients_(clients), log_(log) {}
  ~WantedEntries() { CountUnfinished(-static_cast<int64_t>(unfinished_), -static_cast<int64_t>(unfinished_bytes_)); }

  // The entries that the log had when it was opened.
  void Restore(ByPosition wanted) { wanted_ = std::move(wanted); }
  // As RedoLog::Append. The entry is wanted.
  absl::StatusOr<uint64_t> Append(const Entry& entry, uint64_t keep_free, RedoLog::Persisted done) {
    absl::StatusOr<uint64_t> position = log_.Append(entry, keep_free, std::move(done));
    if (position.ok()) wanted_.emplace(*position, Wanted{entry.client, entry.sequence, entry.kind});
    return position;
  }
  // As RedoLog::Release, if there is a position; after that, there is none.
  void Release(std::optional<uint64_t>& position) {
    if (!position) return;
    wanted_.erase(*position);
    log_.Release(*position);
    position.reset();
  }
  const ByPosition& by_position() const { return wanted_; }

  // By how many there are more, or fewer; `bytes` are those of their entries.
  void CountUnfinished(int64_t requests, int64_t bytes) {
    unfinished_ += static_cast<uint64_t>(requests);
    unfinished_bytes_ += static_cast<uint64_t>(bytes);
    trace::Change(trace::Counter::kDurableUnfinished, requests);
    trace::Change(trace::Counter::kRedoLogBytes, bytes);
  }
  void CountOutOfOrder(int64_t requests) { out_of_order_ += static_cast<uint64_t>(requests); }
  uint64_t unfinished() const { return unfinished_; }
  uint64_t unfinished_bytes() const { return unfinished_bytes_; }

  // The bytes that must stay free: for an outcome of each request that is not finished, for an entry of each fact that
  // may have to be written again, and for the gap that one of them may leave at the ring's end. So the ledger can
  // finish all that it has accepted, and the head can always move.
  uint64_t Reserved() const {
    return (unfinished_ + 1) * RoomOfOne(options_) + (clients_.size() + 1 + out_of_order_) * EntryBytes(0);
  }

 private:
  const LedgerOptions& options_;
  const Clients& clients_;
  RedoLog& log_;
  ByPosition wanted_;
  uint64_t unfinished_ = 0;
  uint64_t unfinished_bytes_ = 0;
  uint64_t out_of_order_ = 0;  // finished, behind one that is not
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_WANTED_ENTRIES_H_
