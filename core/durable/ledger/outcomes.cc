// The ledger's outcomes: kept for a while, let go one day, and held for services whose state is made of them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/durable/ledger/kinds.h"
#include "core/durable/ledger/ledger.h"

namespace skein::durable {

absl::StatusOr<std::string> Ledger::Outcome(const ClientId& client, uint64_t sequence) {
  const MutexLock lock(&mu_);
  ClientRecord* const known = FindClient(client);
  if (known == nullptr) return absl::NotFoundError("the client is not known, or no more");
  known->heard = options_.now();
  if (!known->IsFinished(sequence)) return absl::NotFoundError(absl::StrCat("sequence ", sequence, " is not finished"));
  const RequestRecord* const record = known->Find(sequence);
  if (record == nullptr || !record->kept) {
    return absl::NotFoundError(
        absl::StrCat("sequence ", sequence, " is finished, and its outcome is not kept any more"));
  }
  std::string outcome;
  if (absl::StatusOr<Entry> entry = log_->Read(*record->outcome, outcome); !entry.ok()) return entry.status();
  return outcome;
}

void Ledger::Acknowledge(const ClientId& client, uint64_t up_to) {
  const MutexLock lock(&mu_);
  ClientRecord* const known = FindClient(client);
  if (known == nullptr) return;
  known->heard = options_.now();
  std::vector<uint64_t> kept;
  for (const auto& [sequence, record] : known->requests) {
    if (sequence > up_to) break;
    if (record.kept) kept.push_back(sequence);
  }
  for (const uint64_t sequence : kept) LetGo(*known, sequence, *known->Find(sequence));
  Trim();
}

void Ledger::Keep(const ClientId& id, uint64_t sequence, RequestRecord& record) {
  record.kept = next_kept_++;
  kept_.emplace(*record.kept, Kept{id, sequence, options_.now()});
  kept_bytes_ += record.outcome_bytes;
}

void Ledger::LetGo(ClientRecord& client, uint64_t sequence, RequestRecord& record) {
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
    ClientRecord& client = *FindClient(oldest.client);
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

absl::Status Ledger::ForEachOutcome(uint64_t position, absl::FunctionRef<void(const Held& outcome)> visit) {
  const MutexLock lock(&mu_);
  std::string payload;
  for (auto next = wanted_.upper_bound(position); next != wanted_.end(); ++next) {
    const auto& [at, wanted] = *next;
    if (wanted.kind != kOutcome || !FindClient(wanted.client)->IsFinished(wanted.sequence)) continue;
    const absl::StatusOr<Entry> entry = log_->Read(at, payload);
    if (!entry.ok()) return entry.status();
    visit({at, wanted.client, wanted.sequence, entry->payload});
  }
  return absl::OkStatus();
}

void Ledger::Checkpoint(uint64_t position) {
  const MutexLock lock(&mu_);
  std::vector<Wanted> outcomes;
  for (auto next = wanted_.upper_bound(checkpoint_); next != wanted_.end() && next->first <= position; ++next) {
    if (next->second.kind == kOutcome) outcomes.push_back(next->second);
  }
  checkpoint_ = std::max(checkpoint_, position);
  for (const Wanted& outcome : outcomes) ReleaseIfNeedless(*FindClient(outcome.client), outcome.sequence);
  Trim();
}

}  // namespace skein::durable
