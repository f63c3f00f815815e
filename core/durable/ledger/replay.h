// Makes a ledger what it was before a crash, from the entries of its log.
#ifndef SKEIN_CORE_DURABLE_LEDGER_REPLAY_H_
#define SKEIN_CORE_DURABLE_LEDGER_REPLAY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/durable/ledger/client_record.h"
#include "core/durable/ledger/outcomes.h"
#include "core/durable/ledger/wanted_entries.h"
#include "core/durable/log/entry.h"

namespace skein::durable {

// Lives while a ledger is opened. One thread.
class Replay {
 public:
  // The log's next entry. DATA_LOSS: no ledger has written it behind those before it.
  absl::Status Add(const Entry& entry);
  // There are no more: gives what they say to a new ledger's parts, whose log is open now, and releases those that are
  // needless. Once. DATA_LOSS: entries are missing.
  absl::Status End(absl::Time now, Clients& clients, WantedEntries& entries, Outcomes& outcomes);

 private:
  ClientRecord& Client(const ClientId& id);
  absl::Status AddRequest(const Entry& entry);
  absl::Status AddOutcome(const Entry& entry);
  void AddMark(const Entry& entry);
  void AddForget(const Entry& entry);

  Clients clients_;
  WantedEntries::ByPosition wanted_;
  std::vector<uint64_t> needless_;  // positions
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_REPLAY_H_
