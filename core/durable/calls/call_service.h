// The serving end of durable calls, whatever carries them: requests into the ledger, from it to whoever executes them,
// and what became of them to their clients.
//
//   auto service = durable::CallService::Open(std::move(storage), options, [](const auto& call) { return Do(call); });
//   (*service)->Start();                                       // begins with what a crash left unfinished
//   auto session = (*service)->Connect(send, on_end);          // per connection; its messages to OnMessage
#ifndef SKEIN_CORE_DURABLE_CALLS_CALL_SERVICE_H_
#define SKEIN_CORE_DURABLE_CALLS_CALL_SERVICE_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "core/durable/calls/call_session.h"
#include "core/durable/ledger/ledger.h"
#include "core/durable/ledger/ledger_options.h"

namespace skein::durable {

// What is executed: `sequence` of `client` is the same whenever it is executed again after a crash.
struct DurableCall {
  ClientId client{};
  uint64_t sequence = 0;
  absl::string_view request;
};

// What is safe of one: by position, which is greater than that of any before.
struct DurableOutcome {
  uint64_t position = 0;
  ClientId client{};
  uint64_t sequence = 0;
  absl::string_view reply;
};

struct CallServiceOptions {
  LedgerOptions ledger;
  int threads = 4;  // that execute; of one client, one request at a time. 0: none, nor one that persists: see Work
  uint64_t largest_request = UINT64_MAX;  // as it travels (message.h); also if the log would take larger ones
  // With ledger.hold_outcomes, for services whose state is made of them: each as it is safe, on a thread that persists,
  // before its client hears of it. A void call's is empty.
  std::function<void(const DurableOutcome& outcome)> on_outcome;
};

// Any thread. One thread of its own persists, for all who wait; `threads` execute. Or none: then its user's does both.
class CallService {
 public:
  // Gives the outcome, which is the reply. None: it could not be executed, nor can any other; they wait for the next
  // opening. On a thread of the service's; it may block.
  using Execute = std::function<std::optional<std::string>(const DurableCall& call)>;

  // Errors: Ledger::Open's.
  static absl::StatusOr<std::unique_ptr<CallService>> Open(std::unique_ptr<Storage> storage,
                                                           const CallServiceOptions& options, Execute execute);
  // Stops. No session of it is in a call.
  ~CallService();

  // What was not finished before is executed, then what comes. Once.
  void Start();
  // Without threads: persists what waits for it, then executes one. False: there was nothing to do. One at a time.
  bool Work() ABSL_LOCKS_EXCLUDED(mu_);
  // Ends all sessions; waits for what is being executed, and for that to be safe. What is not executed waits for the
  // next opening. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(stop_mu_, mu_);

  // After Stop, it is at its end when this returns. Disconnected must come.
  std::shared_ptr<CallSession> Connect(CallSession::Send send, CallSession::OnEnd on_end) ABSL_LOCKS_EXCLUDED(mu_);

  // With ledger.hold_outcomes: those that are safe, from behind `position` on; and that those up to it may go.
  absl::Status ForEachOutcome(uint64_t position, absl::FunctionRef<void(const DurableOutcome& outcome)> visit);
  void Checkpoint(uint64_t position) ABSL_LOCKS_EXCLUDED(mu_);

  Ledger::Load load() const { return ledger_->load(); }
  Persistence persistence() const { return ledger_->persistence(); }
  // As it travels (message.h).
  uint64_t largest_request() const { return std::min(largest_request_, ledger_->largest_request()); }
  // OK, or why nothing more is taken: then what was acknowledged waits for the log's next opening.
  absl::Status health() const;

 private:
  friend CallSession;
  using Sessions = std::vector<std::shared_ptr<CallSession>>;

  CallService(std::unique_ptr<Ledger> ledger, bool persists_at_once, const CallServiceOptions& options,
              Execute execute);

  // By sessions.
  void Register(const std::shared_ptr<CallSession>& session) ABSL_LOCKS_EXCLUDED(mu_);
  void Leave(CallSession& session) ABSL_LOCKS_EXCLUDED(mu_);
  // Something was given to the ledger, or is to be.
  void Persist() ABSL_LOCKS_EXCLUDED(mu_);
  void HasPersisted(std::shared_ptr<CallSession> session) ABSL_LOCKS_EXCLUDED(mu_);
  void WaitsForRoom(std::shared_ptr<CallSession> session, bool at_once) ABSL_LOCKS_EXCLUDED(mu_);

  void WakeExecutor() ABSL_LOCKS_EXCLUDED(mu_);

  void RunPersister() ABSL_LOCKS_EXCLUDED(mu_);
  void PersistOnce() ABSL_LOCKS_EXCLUDED(mu_);
  void RunExecutor() ABSL_LOCKS_EXCLUDED(mu_);
  enum class Step : uint8_t { kExecuted, kNothing, kOver };
  Step ExecuteNext() ABSL_LOCKS_EXCLUDED(mu_);
  // False: no more can be.
  bool ExecuteOne(const Ledger::Request& request) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Finish(const Ledger::Request& request, const std::string& kept,
                      const absl::StatusOr<std::string>& reply);
  void OnFinished(const ClientId& client, uint64_t sequence, const absl::StatusOr<std::string>& reply)
      ABSL_LOCKS_EXCLUDED(mu_);
  void RefuseAll(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

  const Execute execute_;
  const std::function<void(const DurableOutcome&)> on_outcome_;
  const bool holds_outcomes_;
  const uint64_t largest_request_;
  const int executors_;
  const bool persists_at_once_;  // it costs no trip to a disk: whoever has something to persist does
  const std::unique_ptr<Ledger> ledger_;

  Mutex stop_mu_;  // who stops; before mu_
  Mutex mu_;       // never together with a session's
  std::condition_variable_any persister_wakes_;
  std::condition_variable_any executors_wake_;
  bool dirty_ ABSL_GUARDED_BY(mu_) = false;      // for the persister
  uint64_t arrivals_ ABSL_GUARDED_BY(mu_) = 0;   // of what may be taken: who has seen the last may sleep
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;    // for the executors
  bool finished_ ABSL_GUARDED_BY(mu_) = false;   // for the persister, after them
  bool room_came_ ABSL_GUARDED_BY(mu_) = false;  // since the last who waited for space were told
  absl::flat_hash_set<std::shared_ptr<CallSession>> connected_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<ClientId, std::shared_ptr<CallSession>> sessions_ ABSL_GUARDED_BY(mu_);  // that have said Hello
  Sessions have_persisted_ ABSL_GUARDED_BY(mu_);
  Sessions wait_for_room_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;  // Start's, then who stops; so is:
  std::thread persister_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_CALLS_CALL_SERVICE_H_
