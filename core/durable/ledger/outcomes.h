// The proofs, after a crash, that requests were executed: their outcomes, which are kept for a while, and marks.
#ifndef SKEIN_CORE_DURABLE_LEDGER_OUTCOMES_H_
#define SKEIN_CORE_DURABLE_LEDGER_OUTCOMES_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/durable/ledger/client_record.h"
#include "core/durable/ledger/ledger_options.h"
#include "core/durable/ledger/wanted_entries.h"
#include "core/durable/log/entry.h"
#include "core/durable/log/redo_log.h"

namespace skein::durable {

// Not thread-safe: the ledger's lock guards it, and the clients.
class Outcomes {
 public:
  // Called by the log, without locks, when an entry that was written again is safe: to call OnRewritten with the lock.
  using Rewritten = std::function<void(const Wanted& entry)>;

  // Options, clients and entries outlive it. The log ends first: its end calls back, and nobody asks it afterwards.
  Outcomes(const LedgerOptions& options, Clients& clients, WantedEntries& entries, RedoLog& log, Rewritten rewritten)
      : options_(options), clients_(clients), entries_(entries), log_(log), rewritten_(std::move(rewritten)) {}

  // The request's outcome is safe: it is kept, and the request finished.
  void Add(const ClientId& id, ClientRecord& client, uint64_t sequence);
  // As the newest of those for which clients may ask.
  void Keep(const ClientId& id, ClientRecord& client, uint64_t sequence);
  void LetGoOfTooMany();
  // The client has the outcomes up to there.
  void Acknowledge(ClientRecord& client, uint64_t up_to);
  // Whether the entry there is an outcome that no checkpoint covers yet. With options.hold_outcomes only.
  bool IsHeld(uint64_t position) const;
  void Checkpoint(uint64_t position);
  // Releases the outcome's entry and forgets the record, if nothing needs them.
  void ReleaseIfNeedless(ClientRecord& client, uint64_t sequence);

  // Makes space at the log's head (trimming.cc). May erase records.
  void Trim();
  void OnRewritten(const Wanted& entry);

 private:
  struct Kept {
    ClientId client;
    uint64_t sequence;
    absl::Time since;
  };

  void LetGo(ClientRecord& client, uint64_t sequence, RequestRecord& record);
  // That an entry may be written over; false: not now.
  bool MakeNeedless(uint64_t position, const Wanted& wanted);
  bool MakeMarkNeedless(uint64_t position, const Wanted& wanted);
  bool MakeOutcomeNeedless(uint64_t position, const Wanted& wanted);
  bool WriteMark(const ClientId& id, ClientRecord& client, uint64_t keep_free);
  void OnMark(ClientRecord& client);
  bool Rewrite(const Wanted& wanted, ClientRecord& client, RequestRecord& record, EntryKind kind);
  absl::StatusOr<uint64_t> AppendAgain(const Entry& entry, uint64_t keep_free);

  const LedgerOptions& options_;
  Clients& clients_;
  WantedEntries& entries_;
  RedoLog& log_;
  const Rewritten rewritten_;             // called without the lock
  absl::btree_map<uint64_t, Kept> kept_;  // by age
  uint64_t next_kept_ = 0;
  uint64_t kept_bytes_ = 0;
  uint64_t checkpoint_ = 0;
  uint64_t trimmed_to_ = 0;  // entries before this are needless, or will be when others are safe
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_OUTCOMES_H_
