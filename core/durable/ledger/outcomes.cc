// The ledger's outcomes: kept for a while, let go one day, and held for services whose state is made of them.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/durable/ledger/kinds.h"
#include "core/durable/ledger/ledger.h"

namespace skein::durable {

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
  const uint64_t last = std::min(up_to, known->mark);
  auto next = known->requests.upper_bound(known->acknowledged);
  while (next != known->requests.end() && next->first <= last) {
    const uint64_t sequence = next->first;
    if (next->second.kept) LetGo(*known, sequence, next->second);
    next = known->requests.upper_bound(sequence);
  }
  known->acknowledged = std::max(known->acknowledged, last);
  Trim();
}

void Ledger::Keep(const ClientId& id, uint64_t sequence, RequestRecord& record) {
  ++FindClient(clients_, id)->kept;
  record.kept = next_kept_++;
  kept_.emplace(*record.kept, Kept{id, sequence, options_.now()});
  kept_bytes_ += record.outcome_bytes;
}

void Ledger::LetGo(ClientRecord& client, uint64_t sequence, RequestRecord& record) {
  --client.kept;
  kept_bytes_ -= record.outcome_bytes;
  kept_.erase(*record.kept);
  record.kept.reset();
  ReleaseIfNeedless(client, sequence);
}

void Ledger::LetGoOfTooMany() {
  const uint64_t most_bytes = log_->usage().capacity / 100 * options_.kept_percent;
  const absl::Time before = options_.now() - options_.kept_for;
  while (!kept_.empty() &&
         (kept_.size() > options_.kept_outcomes || kept_bytes_ > most_bytes || kept_.begin()->second.since <= before)) {
    const Kept oldest = kept_.begin()->second;
    ClientRecord& client = *FindClient(clients_, oldest.client);
    LetGo(client, oldest.sequence, *client.Find(oldest.sequence));
  }
}

bool Ledger::IsHeld(uint64_t position) const {
  if (!options_.hold_outcomes || position <= checkpoint_) return false;
  const auto entry = wanted_.find(position);
  return entry != wanted_.end() && entry->second.kind == kOutcome;
}

void Ledger::ReleaseIfNeedless(ClientRecord& client, uint64_t sequence) {
  RequestRecord* const record = client.Find(sequence);
  if (record == nullptr || record->stage != Stage::kFinished || record->kept || record->rewritten ||
      sequence > client.written_mark || IsHeld(*record->outcome)) {
    return;
  }
  Release(record->outcome);
  client.requests.erase(sequence);
}

absl::StatusOr<std::optional<Ledger::Held>> Ledger::NextHeld(uint64_t behind, std::string& payload) {
  const MutexLock lock(&mu_);
  for (auto next = wanted_.upper_bound(behind); next != wanted_.end(); ++next) {
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
  std::vector<Wanted> outcomes;
  for (auto next = wanted_.upper_bound(checkpoint_); next != wanted_.end() && next->first <= position; ++next) {
    if (next->second.kind == kOutcome) outcomes.push_back(next->second);
  }
  checkpoint_ = std::max(checkpoint_, position);
  for (const Wanted& outcome : outcomes) {
    if (ClientRecord* const client = FindClient(clients_, outcome.client)) ReleaseIfNeedless(*client, outcome.sequence);
  }
  Trim();
}

}  // namespace skein::durable
