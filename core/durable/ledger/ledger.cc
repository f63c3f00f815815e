#include "core/durable/ledger/ledger.h"

#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/durable/ledger/kinds.h"
#include "core/trace/counters.h"

namespace skein::durable {

Ledger::~Ledger() {
  // While callbacks can still ask how it is.
  log_->GiveUp(absl::CancelledError("it was closed"));
  log_->Flush();
}

absl::Status Ledger::Accept(const ClientId& client, uint64_t sequence, absl::string_view request, Accepted done) {
  Acceptance duplicate{.level = persistence(), .duplicate = true};
  {
    const MutexLock lock(&mu_);
    const absl::StatusOr<ClientRecord*> admitted = Admit(client, sequence);
    if (!admitted.ok()) return admitted.status();
    ClientRecord& record = **admitted;
    record.heard = options_.now();
    if (sequence == record.last + 1) return AppendRequest(client, record, sequence, request, std::move(done));
    if (sequence > record.persisted) {
      record.Find(sequence)->waiting.push_back(std::move(done));
      return absl::OkStatus();
    }
    duplicate.finished = record.IsFinished(sequence);
  }
  done(duplicate);
  return absl::OkStatus();
}

absl::StatusOr<ClientRecord*> Ledger::Admit(const ClientId& client, uint64_t sequence) {
  if (sequence == 0) return absl::InvalidArgumentError("a client's sequences begin with 1");
  if (ClientRecord* const known = FindClient(clients_, client)) {
    if (sequence > known->last + 1) {
      return absl::FailedPreconditionError(
          absl::StrCat("sequence ", sequence, " comes before ", known->last + 1, "; send that one first"));
    }
    return known;
  }
  if (sequence > 1) {
    return absl::NotFoundError(absl::StrCat(
        "sequence ", sequence, " of a client that is not known, or no more; begin anew, as another client"));
  }
  if (clients_.size() >= options_.clients) {
    if (absl::Status place = MakePlace(); !place.ok()) return place;
  }
  return clients_.emplace(client, std::make_unique<ClientRecord>()).first->second.get();
}

absl::Status Ledger::AppendRequest(const ClientId& id, ClientRecord& client, uint64_t sequence,
                                   absl::string_view request, Accepted done) {
  absl::StatusOr<uint64_t> position = absl::ResourceExhaustedError(
      absl::StrCat("sequence ", sequence, " is ", options_.client_window, " ahead of one that is not finished"));
  if (sequence - client.mark <= options_.client_window) {
    outcomes_.Trim();
    position = entries_.Append({.kind = kRequest,
                                .client = id,
                                .sequence = sequence,
                                .tag = AheadTag(sequence, client.acknowledged),
                                .payload = request},
                               entries_.Reserved() + RoomOfOne(options_),
                               [this, id, sequence](const absl::Status& status) { OnAccepted(id, sequence, status); });
  }
  if (!position.ok()) {
    // Nothing in the log is its own, unless it was known by a mark of nothing.
    if (client.last == 0 && !client.mark_position && !client.next_mark_position) clients_.erase(id);
    return position.status();
  }
  client.last = sequence;
  RequestRecord& record = client.requests[sequence];
  record.request = *position;
  record.request_bytes = EntryBytes(request.size());
  record.waiting.push_back(std::move(done));
  entries_.CountUnfinished(1, static_cast<int64_t>(record.request_bytes));
  return absl::OkStatus();
}

void Ledger::OnAccepted(const ClientId& id, uint64_t sequence, const absl::Status& status) {
  std::vector<Accepted> waiting;
  {
    const MutexLock lock(&mu_);
    ClientRecord& client = *FindClient(clients_, id);
    RequestRecord& record = *client.Find(sequence);
    waiting.swap(record.waiting);
    if (status.ok()) {
      trace::Count(trace::Counter::kDurablePersisted);
      record.stage = Stage::kReady;
      client.persisted = sequence;
      MakeReady(id, client);
    }
  }
  bool duplicate = false;
  for (Accepted& done : waiting) {
    if (status.ok()) {
      done(Acceptance{.level = persistence(), .duplicate = duplicate});
    } else {
      done(status);
    }
    duplicate = true;
  }
}

// Offers the next of this client's, if it may run now.
void Ledger::MakeReady(const ClientId& id, ClientRecord& client) {
  while (client.queued < client.persisted && (client.active == 0 || options_.overlap)) {
    const uint64_t sequence = ++client.queued;
    if (client.IsFinished(sequence)) continue;  // before a crash
    ++client.active;
    ready_.emplace(*client.Find(sequence)->request, std::make_pair(id, sequence));
  }
}

absl::StatusOr<std::optional<Ledger::Request>> Ledger::Take() {
  Request request;
  uint64_t position = 0;
  {
    const MutexLock lock(&mu_);
    if (ready_.empty()) return std::nullopt;
    position = ready_.begin()->first;
    std::tie(request.client, request.sequence) = ready_.begin()->second;
    ready_.erase(ready_.begin());
    FindClient(clients_, request.client)->Find(request.sequence)->stage = Stage::kRunning;
  }
  // Its entry stays until it is finished, which is up to who has taken it.
  if (absl::StatusOr<Entry> entry = log_->Read(position, request.bytes); !entry.ok()) return entry.status();
  return request;
}

absl::Status Ledger::Finish(const ClientId& client, uint64_t sequence, absl::string_view outcome, Finished done,
                            Safe safe) {
  const MutexLock lock(&mu_);
  outcomes_.Trim();  // first: it moves records
  ClientRecord* const known = FindClient(clients_, client);
  RequestRecord* const record = known == nullptr ? nullptr : known->Find(sequence);
  if (record == nullptr || record->stage != Stage::kRunning) {
    return absl::FailedPreconditionError(absl::StrCat("sequence ", sequence, " of this client is not being executed"));
  }
  // What was set aside for it is its own; a larger one must leave what was set aside for the others.
  const bool has_room = outcome.size() <= options_.outcome_room;
  const absl::StatusOr<uint64_t> position =
      entries_.Append({.kind = kOutcome, .client = client, .sequence = sequence, .payload = outcome},
                      has_room ? 0 : entries_.Reserved(),
                      [this, client, sequence, done = std::move(done), safe = std::move(safe)](
                          const absl::Status& status) mutable { OnFinished(client, sequence, status, done, safe); });
  if (!position.ok()) return position.status();
  record->stage = Stage::kFinishing;
  record->outcome = *position;
  record->outcome_bytes = EntryBytes(outcome.size());
  --known->active;
  MakeReady(client, *known);
  return absl::OkStatus();
}

uint64_t Ledger::OutcomePosition(const ClientId& id, uint64_t sequence) {
  const MutexLock lock(&mu_);
  return *FindClient(clients_, id)->Find(sequence)->outcome;
}

void Ledger::OnFinished(const ClientId& id, uint64_t sequence, const absl::Status& status, Finished& done, Safe& safe) {
  if (status.ok() && safe) safe(OutcomePosition(id, sequence));  // nothing moves it before the record is finished
  if (status.ok()) {
    const MutexLock lock(&mu_);
    trace::Count(trace::Counter::kDurableExecuted);
    outcomes_.Add(id, *FindClient(clients_, id), sequence);
  }
  if (done) done(status);
}

Ledger::Standing Ledger::Known(const ClientId& client) {
  const MutexLock lock(&mu_);
  ClientRecord* const known = FindClient(clients_, client);
  if (known == nullptr) return {};
  known->heard = options_.now();
  Standing standing{.persisted = known->persisted, .mark = known->mark, .finished = {}};
  for (auto next = known->requests.upper_bound(known->mark); next != known->requests.end(); ++next) {
    if (next->second.stage == Stage::kFinished) standing.finished.push_back(next->first);
  }
  return standing;
}

absl::StatusOr<std::string> Ledger::Outcome(const ClientId& client, uint64_t sequence) {
  const MutexLock lock(&mu_);
  ClientRecord* const known = FindClient(clients_, client);
  if (known == nullptr) return absl::OutOfRangeError("the client is not known, or no more");
  known->heard = options_.now();
  if (sequence == 0 || sequence > known->persisted) {
    return absl::OutOfRangeError(absl::StrCat("the client has no sequence ", sequence));
  }
  if (!known->IsFinished(sequence)) {
    return absl::FailedPreconditionError(absl::StrCat("sequence ", sequence, " is not finished"));
  }
  const RequestRecord* const record = known->Find(sequence);
  if (record == nullptr || !record->kept) {
    return absl::NotFoundError(
        absl::StrCat("sequence ", sequence, " is finished, and its outcome is not kept any more"));
  }
  std::string outcome;
  const absl::StatusOr<Entry> entry = log_->Read(*record->outcome, outcome);
  if (!entry.ok()) return entry.status();
  if (entry->kind == kCarried) outcome.erase(0, sizeof(record->born));
  return outcome;
}

void Ledger::Acknowledge(const ClientId& client, uint64_t up_to) {
  const MutexLock lock(&mu_);
  ClientRecord* const known = FindClient(clients_, client);
  if (known == nullptr) return;
  known->heard = options_.now();
  outcomes_.Acknowledge(*known, up_to);
}

absl::StatusOr<std::optional<Ledger::Held>> Ledger::NextHeld(uint64_t behind, std::string& payload) {
  const MutexLock lock(&mu_);
  const WantedEntries::ByPosition& all = entries_.by_position();
  for (auto next = all.upper_bound(behind); next != all.end(); ++next) {
    const auto& [at, wanted] = *next;
    ClientRecord* const client = FindClient(clients_, wanted.client);  // null: it is being forgotten
    if (wanted.kind != kOutcome || client == nullptr || !client->IsFinished(wanted.sequence)) continue;
    const absl::StatusOr<Entry> entry = log_->Read(at, payload);
    if (!entry.ok()) return entry.status();
    return Held{at, wanted.client, wanted.sequence, payload};
  }
  return std::nullopt;
}

absl::Status Ledger::ForEachOutcome(uint64_t position, absl::FunctionRef<void(const Held& outcome)> visit) {
  std::string payload;
  for (;;) {
    const absl::StatusOr<std::optional<Held>> held = NextHeld(position, payload);
    if (!held.ok() || !held->has_value()) return held.status();
    visit(**held);
    position = (*held)->position;
  }
}

void Ledger::Checkpoint(uint64_t position) {
  const MutexLock lock(&mu_);
  outcomes_.Checkpoint(position);
}

void Ledger::OnRewritten(const Wanted& entry) {
  const MutexLock lock(&mu_);
  outcomes_.OnRewritten(entry);
}

Ledger::Load Ledger::load() const {
  const RedoLog::Usage usage = log_->usage();
  const MutexLock lock(&mu_);
  Load load{.unfinished = entries_.unfinished(),
            .unfinished_bytes = entries_.unfinished_bytes(),
            .log_used = usage.used,
            .log_capacity = usage.capacity,
            .log_head = usage.head,
            .slow_down = false};
  load.slow_down = load.unfinished > options_.slow_requests ||
                   load.unfinished_bytes > usage.capacity / 100 * options_.slow_percent ||
                   usage.used + entries_.Reserved() > usage.capacity / 4 * 3;
  return load;
}

}  // namespace skein::durable
