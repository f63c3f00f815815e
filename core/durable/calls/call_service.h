// The serving end of durable calls, whatever carries them: requests into the ledger, from it to whoever executes them,
// and what became of them to their clients.
//
//   auto service = durable::CallService::Open(std::move(storage), options, [](const auto& call) { return Do(call); });
//   (*service)->Start();                                       // begins with what a crash left unfinished
//   auto session = (*service)->Connect(send, on_end);          // per connection; its messages to OnMessage
#ifndef SKEIN_CORE_DURABLE_CALLS_CALL_SERVICE_H_
#define SKEIN_CORE_DURABLE_CALLS_CALL_SERVICE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "core/durable/calls/call_session.h"
#include "core/durable/ledger/ledger.h"
#include "core/durable/ledger/ledger_options.h"

namespace skein::durable {

struct CallServiceOptions {
  LedgerOptions ledger;
  int threads = 4;  // that execute; of one client, one request at a time
};

// What is executed: `sequence` of `client` is the same whenever it is executed again after a crash.
struct DurableCall {
  ClientId client{};
  uint64_t sequence = 0;
  absl::string_view request;
};

// Any thread. One thread of its own persists, for all who wait; `threads` execute.
class CallService {
 public:
  // Gives the outcome, which is the reply. On a thread of the service's; it may block.
  using Execute = std::function<std::string(const DurableCall& call)>;

  // Errors: Ledger::Open's.
  static absl::StatusOr<std::unique_ptr<CallService>> Open(std::unique_ptr<Storage> storage,
                                                           const CallServiceOptions& options, Execute execute);
  // Stops. No session of it is in a call.
  ~CallService();

  // What was not finished before is executed, then what comes. Once.
  void Start();
  // Ends all sessions; waits for what is being executed, and for that to be safe. What is not executed waits for the
  // next opening. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  std::shared_ptr<CallSession> Connect(CallSession::Send send, CallSession::OnEnd on_end);

  Ledger::Load load() const { return ledger_->load(); }
  Persistence persistence() const { return ledger_->persistence(); }
  // OK, or why nothing more is taken: then what was acknowledged waits for an opening on a healthy disk.
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
  void ExecuteOne(const Ledger::Request& request) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Finish(const Ledger::Request& request, const std::string& kept, const std::string& outcome);
  void OnFinished(const ClientId& client, uint64_t sequence, absl::string_view outcome) ABSL_LOCKS_EXCLUDED(mu_);
  void RefuseAll(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

  const Execute execute_;
  const int executors_;
  const bool persists_at_once_;  // it costs no trip to a disk: whoever has something to persist does
  const std::unique_ptr<Ledger> ledger_;

  Mutex mu_;  // never together with a session's
  std::condition_variable_any persister_wakes_;
  std::condition_variable_any executors_wake_;
  bool dirty_ ABSL_GUARDED_BY(mu_) = false;      // for the persister
  uint64_t arrivals_ ABSL_GUARDED_BY(mu_) = 0;   // of what may be taken: who has seen the last may sleep
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;    // for the executors
  bool finished_ ABSL_GUARDED_BY(mu_) = false;   // for the persister, after them
  bool room_came_ ABSL_GUARDED_BY(mu_) = false;  // since the last who waited for room were told
  absl::flat_hash_map<ClientId, std::shared_ptr<CallSession>> sessions_ ABSL_GUARDED_BY(mu_);
  Sessions have_persisted_ ABSL_GUARDED_BY(mu_);
  Sessions wait_for_room_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
  std::thread persister_;
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_CALLS_CALL_SERVICE_H_
