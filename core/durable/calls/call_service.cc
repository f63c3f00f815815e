#include "core/durable/calls/call_service.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/signals_blocked.h"
#include "core/durable/calls/outcome.h"

namespace skein::durable {

absl::StatusOr<std::unique_ptr<CallService>> CallService::Open(std::unique_ptr<Storage> storage,
                                                               const CallServiceOptions& options, Execute execute) {
  const bool persists_at_once = storage->fine_grained();
  absl::StatusOr<std::unique_ptr<Ledger>> ledger = Ledger::Open(std::move(storage), options.ledger);
  if (!ledger.ok()) return ledger.status();
  return std::unique_ptr<CallService>(
      new CallService(*std::move(ledger), persists_at_once, options, std::move(execute)));
}

CallService::CallService(std::unique_ptr<Ledger> ledger, bool persists_at_once, const CallServiceOptions& options,
                         Execute execute)
    : execute_(std::move(execute)),
      on_outcome_(options.on_outcome),
      holds_outcomes_(options.ledger.hold_outcomes),
      largest_request_(options.largest_request),
      executors_(options.threads),
      persists_at_once_(persists_at_once),
      ledger_(std::move(ledger)) {
  if (executors_ == 0) return;
  const SignalsBlocked blocked;
  persister_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "skein-persist");
    RunPersister();
  });
}

CallService::~CallService() { Stop(); }

void CallService::Start() {
  const SignalsBlocked blocked;
  for (int i = 0; i < executors_; ++i) {
    threads_.emplace_back([this] {
      pthread_setname_np(pthread_self(), "skein-execute");
      RunExecutor();
    });
  }
}

void CallService::Stop() {
  const MutexLock alone(&stop_mu_);
  {
    const MutexLock lock(&mu_);
    stopped_ = true;
  }
  executors_wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  bool first = false;
  {
    const MutexLock lock(&mu_);
    first = !std::exchange(finished_, true);
  }
  persister_wakes_.notify_all();
  if (persister_.joinable()) {
    persister_.join();
  } else if (first) {
    PersistOnce();
  }
  absl::flat_hash_set<std::shared_ptr<CallSession>> sessions;
  {
    const MutexLock lock(&mu_);
    sessions_.clear();
    sessions.swap(connected_);
  }
  for (const auto& session : sessions) session->End();
  // What came after the persister's last look: nobody was told of it, but it may as well be safe.
  ledger_->Persist().IgnoreError();
}

absl::Status CallService::health() const {
  absl::Status status = ledger_->health();
  if (status.ok()) return status;
  const absl::string_view then = absl::IsFailedPrecondition(status)
                                     ? "what it has acknowledged is in the log that goes on: "
                                     : "what it has acknowledged is executed when it is opened again: ";
  return absl::ResourceExhaustedError(
      absl::StrCat("the server's redo log takes nothing more; ", then, status.message()));
}

std::shared_ptr<CallSession> CallService::Connect(CallSession::Send send, CallSession::OnEnd on_end) {
  auto session = std::make_shared<CallSession>(*this, std::move(send), std::move(on_end));
  bool over = false;
  {
    const MutexLock lock(&mu_);
    over = finished_;
    if (!over) connected_.insert(session);
  }
  if (over) session->End();
  return session;
}

void CallService::Register(const std::shared_ptr<CallSession>& session) {
  std::shared_ptr<CallSession> former;
  ledger_->Arrive(session->client_);
  {
    const MutexLock lock(&mu_);
    former = std::exchange(sessions_[session->client_], session);
  }
  if (former == nullptr) return;
  ledger_->Leave(session->client_);
  former->End();
}

void CallService::Leave(CallSession& session) {
  const auto self = session.shared_from_this();
  {
    const MutexLock lock(&mu_);
    connected_.erase(self);
    std::erase_if(wait_for_room_, [&session](const auto& waiting) { return waiting.get() == &session; });
    const auto found = sessions_.find(session.client_);
    if (found == sessions_.end() || found->second.get() != &session) return;
    sessions_.erase(found);
  }
  ledger_->Leave(session.client_);
}

void CallService::Persist() {
  if (persists_at_once_) return PersistOnce();
  {
    const MutexLock lock(&mu_);
    if (std::exchange(dirty_, true)) return;
  }
  persister_wakes_.notify_one();
}

void CallService::HasPersisted(std::shared_ptr<CallSession> session) {
  const MutexLock lock(&mu_);
  if (have_persisted_.empty() || have_persisted_.back() != session) have_persisted_.push_back(std::move(session));
}

// At once: the log may have freed space meanwhile. Otherwise when a call has been finished.
void CallService::WaitsForRoom(std::shared_ptr<CallSession> session, bool at_once) {
  {
    const MutexLock lock(&mu_);
    wait_for_room_.push_back(std::move(session));
    room_came_ |= at_once;
  }
  if (!at_once && ledger_->load().unfinished == 0) {
    const MutexLock lock(&mu_);
    room_came_ = true;
  }
  Persist();
}

void CallService::RunPersister() {
  for (;;) {
    bool last = false;
    {
      const MutexLock lock(&mu_);
      Lockable lockable{mu_};
      while (!dirty_ && !finished_) persister_wakes_.wait(lockable);
      dirty_ = false;
      last = finished_;
    }
    PersistOnce();
    if (last) return;
  }
}

void CallService::PersistOnce() {
  persists_at_once_ ? ledger_->Flush() : ledger_->Persist().IgnoreError();  // who waits has been told
  const bool slow_down = ledger_->load().slow_down;
  Sessions have_persisted;
  Sessions may_have_room;
  {
    const MutexLock lock(&mu_);
    have_persisted.swap(have_persisted_);
    if (std::exchange(room_came_, false)) may_have_room.swap(wait_for_room_);
  }
  for (const auto& session : have_persisted) session->TellPersisted(slow_down);
  for (const auto& session : may_have_room) session->Resume();
  if (const absl::Status status = health(); !status.ok()) RefuseAll(status);
}

void CallService::RefuseAll(const absl::Status& why) {
  absl::flat_hash_map<ClientId, std::shared_ptr<CallSession>> sessions;
  {
    const MutexLock lock(&mu_);
    sessions.swap(sessions_);
  }
  for (const auto& [client, session] : sessions) session->Refuse(0, /*final=*/true, why);
}

void CallService::WakeExecutor() {
  {
    const MutexLock lock(&mu_);
    ++arrivals_;
  }
  executors_wake_.notify_one();
}

void CallService::RunExecutor() {
  for (;;) {
    uint64_t seen = 0;
    {
      const MutexLock lock(&mu_);
      if (stopped_) return;
      seen = arrivals_;
    }
    const Step step = ExecuteNext();
    if (step == Step::kOver) return;
    if (step == Step::kExecuted) continue;
    const MutexLock lock(&mu_);
    Lockable lockable{mu_};
    while (!stopped_ && arrivals_ == seen) executors_wake_.wait(lockable);
  }
}

bool CallService::Work() {
  bool dirty = false;
  {
    const MutexLock lock(&mu_);
    dirty = std::exchange(dirty_, false);
  }
  if (dirty) PersistOnce();
  return ExecuteNext() == Step::kExecuted || dirty;
}

CallService::Step CallService::ExecuteNext() {
  // A log that has failed could not say that a call was executed: the call would be executed again. The thread that
  // found the log failed may have told its own client alone.
  if (const absl::Status status = health(); !status.ok()) {
    RefuseAll(status);
    return Step::kOver;
  }
  const absl::StatusOr<std::optional<Ledger::Request>> taken = ledger_->Take();
  if (!taken.ok()) {
    ledger_->GiveUp(taken.status());
    Persist();  // which tells everybody
    return Step::kOver;
  }
  if (!taken->has_value()) return Step::kNothing;
  return ExecuteOne(**taken) ? Step::kExecuted : Step::kOver;
}

bool CallService::ExecuteOne(const Ledger::Request& request) {
  std::string reply;
  if (!IsVoid(request.bytes)) {
    std::optional<std::string> executed =
        execute_({.client = request.client, .sequence = request.sequence, .request = RequestBytes(request.bytes)});
    if (!executed.has_value()) return false;
    reply = *std::move(executed);
  }
  absl::Status status = Finish(request, KeepOutcome(reply), reply);
  if (absl::IsResourceExhausted(status)) {
    // Large, and the log is full of what may go as soon as it is persisted.
    ledger_->Persist().IgnoreError();
    status = Finish(request, KeepOutcome(reply), reply);
  }
  // Too large for now, or for ever. A state that is made of replies must not have one that will not be there again.
  if (!status.ok()) {
    status = holds_outcomes_ ? Finish(request, OutcomeRefused(), ReplyOf(OutcomeRefused()).status())
                             : Finish(request, OutcomeNotKept(), reply);
  }
  Persist();  // if it could not be finished, the log has failed: that is told, too
  return true;
}

absl::Status CallService::Finish(const Ledger::Request& request, const std::string& kept,
                                 const absl::StatusOr<std::string>& reply) {
  Ledger::Safe safe = nullptr;
  if (on_outcome_ && reply.ok()) {
    safe = [this, client = request.client, sequence = request.sequence, reply = *reply](uint64_t position) {
      on_outcome_({.position = position, .client = client, .sequence = sequence, .reply = reply});
    };
  }
  return ledger_->Finish(
      request.client, request.sequence, kept,
      [this, client = request.client, sequence = request.sequence, reply](const absl::Status& status) {
        if (status.ok()) OnFinished(client, sequence, reply);
      },
      std::move(safe));
}

void CallService::OnFinished(const ClientId& client, uint64_t sequence, const absl::StatusOr<std::string>& reply) {
  std::shared_ptr<CallSession> session;
  {
    const MutexLock lock(&mu_);
    room_came_ = true;
    if (const auto found = sessions_.find(client); found != sessions_.end()) session = found->second;
  }
  if (session != nullptr) session->Reply(sequence, ledger_->load().slow_down, reply);
}

// By a callback that persists, too: so the round after this one tells who waits for space.
void CallService::Checkpoint(uint64_t position) {
  ledger_->Checkpoint(position);
  {
    const MutexLock lock(&mu_);
    room_came_ = true;
    dirty_ = true;
  }
  persister_wakes_.notify_one();
}

absl::Status CallService::ForEachOutcome(uint64_t position,
                                         absl::FunctionRef<void(const DurableOutcome& outcome)> visit) {
  return ledger_->ForEachOutcome(position, [&visit](const Ledger::Held& held) {
    const absl::StatusOr<absl::string_view> reply = ReplyOf(held.outcome);
    if (!reply.ok()) return;
    visit({.position = held.position, .client = held.client, .sequence = held.sequence, .reply = *reply});
  });
}

}  // namespace skein::durable
