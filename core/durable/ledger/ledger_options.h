// How much a ledger takes, and how long it keeps what.
#ifndef SKEIN_CORE_DURABLE_LEDGER_LEDGER_OPTIONS_H_
#define SKEIN_CORE_DURABLE_LEDGER_LEDGER_OPTIONS_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/durable/log/redo_log.h"

namespace skein::durable {

struct LedgerOptions {
  RedoLogOptions log;

  // With more that is not finished, clients should be asked to send more slowly.
  uint64_t slow_requests = 1024;
  uint64_t slow_percent = 50;  // of the ring's bytes

  // An outcome of so many bytes always has space: it is set aside when the request is accepted. Larger ones may have to
  // wait until there is some.
  uint64_t outcome_room = 256;
  // Outcomes are kept for a client to ask for until it acknowledges them, or they are the oldest of more than this, or
  // older than this, or the log needs their place.
  uint64_t kept_outcomes = 4096;
  uint64_t kept_percent = 25;  // of the ring's bytes
  absl::Duration kept_for = absl::Minutes(10);
  // Outcomes are not written over before Checkpoint: for services whose state is made of them.
  bool hold_outcomes = false;

  // Whose sequences are known at once. A client that is not there, has been silent for so long and has nothing
  // unfinished or kept is forgotten when another one needs its place; should it come back, it must do so under a new
  // identity.
  // 0: as many as a sixteenth of the log could hold marks of, 16,384 at most.
  uint64_t clients = 0;
  absl::Duration client_expiry = absl::Hours(1);
  // Of one client, behind its oldest unfinished request.
  uint64_t client_window = 4096;
  // Requests of one client may be executed at the same time; they are still begun in their order.
  bool overlap = false;

  std::function<absl::Time()> now = SteadyNow;
};

// In the log: an outcome, and once more as finished only.
inline uint64_t RoomOfOne(const LedgerOptions& options) { return EntryBytes(options.outcome_room) + EntryBytes(0); }

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_LEDGER_OPTIONS_H_
