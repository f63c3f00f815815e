// Requests that are executed exactly once, as far as anybody can see in the log: accepted, executed in order, finished
// with an outcome, over crashes.
#ifndef SKEIN_CORE_DURABLE_LEDGER_LEDGER_H_
#define SKEIN_CORE_DURABLE_LEDGER_LEDGER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/durable/ledger/client_record.h"
#include "core/durable/ledger/ledger_options.h"
#include "core/durable/ledger/outcomes.h"
#include "core/durable/ledger/wanted_entries.h"
#include "core/durable/log/redo_log.h"

namespace skein::durable {

class Replay;

// Any thread. As with the log, what is accepted and finished becomes safe when somebody calls Persist or Flush, and
// callbacks are called by who does, without locks; they may call anything here but Persist.
class Ledger {
 public:
  struct Request {
    ClientId client{};
    uint64_t sequence = 0;
    std::string bytes;
  };
  using Finished = absl::AnyInvocable<void(const absl::Status& status)>;
  // With the position of the outcome in the log, which is greater than that of any before.
  using Safe = absl::AnyInvocable<void(uint64_t position)>;

  // What was accepted and not finished is there to be taken, in the log's order. Errors: RedoLog::Open's, DATA_LOSS if
  // the entries contradict one another, INVALID_ARGUMENT if the storage is too small for the options.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(std::unique_ptr<Storage> storage, const LedgerOptions& options);
  // Nobody is in any call. What is not safe is told so.
  ~Ledger();

  // A client's sequences are 1, 2, and so on. Calls `done` exactly once, when the request is safe; at once for a
  // duplicate of one that is. Errors, upon which it is not called: RESOURCE_EXHAUSTED when the log, the client's window
  // or the table of clients is full; FAILED_PRECONDITION if the sequence is not the next one; NOT_FOUND if it is not
  // the first and the client is not known, or no more; the log's.
  absl::Status Accept(const ClientId& client, uint64_t sequence, absl::string_view request, Accepted done)
      ABSL_LOCKS_EXCLUDED(mu_);

  // The next request to be executed, in the log's order; of each client one at a time (but options.overlap). None:
  // there is none now. Each once in each opening: it must be finished.
  absl::StatusOr<std::optional<Request>> Take() ABSL_LOCKS_EXCLUDED(mu_);

  // The request was taken, and executed. When `done` says OK it will not be taken again, and the client may be told the
  // outcome. Before that, when it is safe and nobody can ask for it yet, `safe` is called, if there is one. Errors,
  // upon which neither is called: RESOURCE_EXHAUSTED for an outcome larger than options.outcome_room; try again, or
  // with a smaller one. FAILED_PRECONDITION: it is not being executed. The log's.
  absl::Status Finish(const ClientId& client, uint64_t sequence, absl::string_view outcome, Finished done,
                      Safe safe = nullptr) ABSL_LOCKS_EXCLUDED(mu_);

  absl::Status Persist() { return log_->Persist(); }
  void Flush() { log_->Flush(); }

  // For a client that comes back: what it need not send again.
  struct Standing {
    uint64_t persisted = 0;          // all up to here are safe
    uint64_t mark = 0;               // all up to here are finished
    std::vector<uint64_t> finished;  // and these beyond
  };
  Standing Known(const ClientId& client) ABSL_LOCKS_EXCLUDED(mu_);
  // Of a client that is there: however silent it is, it is not forgotten until it has left as often as it has come.
  void Arrive(const ClientId& client) ABSL_LOCKS_EXCLUDED(mu_);
  void Leave(const ClientId& client) ABSL_LOCKS_EXCLUDED(mu_);
  // For one that is not known.
  bool HasPlace() ABSL_LOCKS_EXCLUDED(mu_);
  // OUT_OF_RANGE: the client has no such request, or is not known; FAILED_PRECONDITION: it is not finished; NOT_FOUND:
  // its outcome is not kept any more.
  absl::StatusOr<std::string> Outcome(const ClientId& client, uint64_t sequence) ABSL_LOCKS_EXCLUDED(mu_);
  // The client has these outcomes: they need not be kept. Its next request that is accepted makes this safe.
  void Acknowledge(const ClientId& client, uint64_t up_to) ABSL_LOCKS_EXCLUDED(mu_);

  // With options.hold_outcomes. Shows the outcomes that are safe, first to last as they were finished, from behind
  // `position` on; and lets those up to `position` go, whose effects the service has safe elsewhere.
  struct Held {
    uint64_t position = 0;
    ClientId client{};
    uint64_t sequence = 0;
    absl::string_view outcome;
  };
  // The visitor may call anything.
  absl::Status ForEachOutcome(uint64_t position, absl::FunctionRef<void(const Held& outcome)> visit)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Checkpoint(uint64_t position) ABSL_LOCKS_EXCLUDED(mu_);

  struct Load {
    uint64_t unfinished = 0;
    uint64_t unfinished_bytes = 0;
    uint64_t log_used = 0;
    uint64_t log_capacity = 0;
    uint64_t log_head = 0;   // a position, which moves as space is made
    bool slow_down = false;  // clients should
  };
  Load load() const ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status health() const { return log_->health(); }
  // Nothing more is taken, as if the log's storage had failed.
  void GiveUp(const absl::Status& cause) { log_->GiveUp(cause); }
  // A client that is not there and silent, at least.
  absl::Duration remembers() const { return options_.client_expiry; }
  uint64_t largest_request() const { return log_->largest_payload(); }
  Persistence persistence() const { return log_->persistence(); }

 private:
  // Entries that go when the first one is safe, which says that its client is forgotten.
  struct Forgetting {
    std::vector<uint64_t> needless;
  };

  Ledger(const LedgerOptions& options, std::unique_ptr<RedoLog> log);
  absl::Status Start(Replay& replay) ABSL_LOCKS_EXCLUDED(mu_);

  // Requests (ledger.cc).
  absl::StatusOr<ClientRecord*> Admit(const ClientId& client, uint64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AppendRequest(const ClientId& id, ClientRecord& client, uint64_t sequence, absl::string_view request,
                             Accepted done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAccepted(const ClientId& id, uint64_t sequence, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  void OnFinished(const ClientId& id, uint64_t sequence, const absl::Status& status, Finished& done, Safe& safe)
      ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t OutcomePosition(const ClientId& id, uint64_t sequence) ABSL_LOCKS_EXCLUDED(mu_);
  void MakeReady(const ClientId& id, ClientRecord& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::optional<Held>> NextHeld(uint64_t behind, std::string& payload) ABSL_LOCKS_EXCLUDED(mu_);
  void OnRewritten(const Wanted& entry) ABSL_LOCKS_EXCLUDED(mu_);

  // Clients that come and go (clients.cc).
  bool MayForget(const ClientId& id, const ClientRecord& client) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Who may be forgotten and has been silent for longest; end: nobody may.
  Clients::iterator LongestSilent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakePlace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Forget(Clients::iterator client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnForgotten(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);

  const LedgerOptions options_;
  mutable Mutex mu_;  // before the log's
  Clients clients_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<ClientId, uint64_t> there_ ABSL_GUARDED_BY(mu_);  // how often
  WantedEntries entries_ ABSL_GUARDED_BY(mu_);
  Outcomes outcomes_ ABSL_GUARDED_BY(mu_);
  absl::btree_map<uint64_t, std::pair<ClientId, uint64_t>> ready_ ABSL_GUARDED_BY(mu_);  // by position
  std::deque<Forgetting> forgetting_ ABSL_GUARDED_BY(mu_);                               // in the log's order
  const std::unique_ptr<RedoLog> log_;                                                   // the last: its end calls back
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_LEDGER_H_
