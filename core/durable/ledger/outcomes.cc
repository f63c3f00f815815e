#include "core/durable/ledger/outcomes.h"

#include <algorithm>
#include <vector>

#include "core/durable/ledger/kinds.h"

namespace skein::durable {
namespace {

constexpr uint64_t kMarkEvery = 256;

}  // namespace

void Outcomes::Add(const ClientId& id, ClientRecord& client, uint64_t sequence) {
  RequestRecord& record = *client.Find(sequence);
  record.born = *record.outcome;
  record.stage = Stage::kFinished;
  entries_.Release(record.request);
  entries_.CountUnfinished(-1, -static_cast<int64_t>(record.request_bytes));
  entries_.CountOutOfOrder(1 - static_cast<int64_t>(client.AdvanceMark()));
  Keep(id, client, sequence);
  // Now and then, so that what proves it finished does not grow with every request.
  if (client.mark >= client.written_mark + kMarkEvery) WriteMark(id, client, entries_.Reserved());
  LetGoOfTooMany();
  Trim();
}

void Outcomes::Keep(const ClientId& id, ClientRecord& client, uint64_t sequence) {
  RequestRecord& record = *client.Find(sequence);
  ++client.kept;
  record.kept = next_kept_++;
  kept_.emplace(*record.kept, Kept{id, sequence, options_.now()});
  kept_bytes_ += record.outcome_bytes;
}

void Outcomes::LetGo(ClientRecord& client, uint64_t sequence, RequestRecord& record) {
  --client.kept;
  kept_bytes_ -= record.outcome_bytes;
  kept_.erase(*record.kept);
  record.kept.reset();
  ReleaseIfNeedless(client, sequence);
}

void Outcomes::LetGoOfTooMany() {
  const uint64_t most_bytes = log_.usage().capacity / 100 * options_.kept_percent;
  const absl::Time before = options_.now() - options_.kept_for;
  while (!kept_.empty() &&
         (kept_.size() > options_.kept_outcomes || kept_bytes_ > most_bytes || kept_.begin()->second.since <= before)) {
    const Kept oldest = kept_.begin()->second;
    ClientRecord& client = *FindClient(clients_, oldest.client);
    LetGo(client, oldest.sequence, *client.Find(oldest.sequence));
  }
}

void Outcomes::Acknowledge(ClientRecord& client, uint64_t up_to) {
  const uint64_t last = std::min(up_to, client.mark);
  auto next = client.requests.upper_bound(client.acknowledged);
  while (next != client.requests.end() && next->first <= last) {
    const uint64_t sequence = next->first;
    if (next->second.kept) LetGo(client, sequence, next->second);
    next = client.requests.upper_bound(sequence);
  }
  client.acknowledged = std::max(client.acknowledged, last);
  Trim();
}

bool Outcomes::IsHeld(uint64_t position) const {
  if (!options_.hold_outcomes || position <= checkpoint_) return false;
  const WantedEntries::ByPosition& wanted = entries_.by_position();
  const auto entry = wanted.find(position);
  return entry != wanted.end() && entry->second.kind == kOutcome;
}

void Outcomes::Checkpoint(uint64_t position) {
  std::vector<Wanted> outcomes;
  const WantedEntries::ByPosition& wanted = entries_.by_position();
  for (auto next = wanted.upper_bound(checkpoint_); next != wanted.end() && next->first <= position; ++next) {
    if (next->second.kind == kOutcome) outcomes.push_back(next->second);
  }
  checkpoint_ = std::max(checkpoint_, position);
  for (const Wanted& outcome : outcomes) {
    if (ClientRecord* const client = FindClient(clients_, outcome.client)) ReleaseIfNeedless(*client, outcome.sequence);
  }
  Trim();
}

void Outcomes::ReleaseIfNeedless(ClientRecord& client, uint64_t sequence) {
  RequestRecord* const record = client.Find(sequence);
  if (record == nullptr || record->stage != Stage::kFinished || record->kept || record->rewritten ||
      sequence > client.written_mark || IsHeld(*record->outcome)) {
    return;
  }
  entries_.Release(record->outcome);
  client.requests.erase(sequence);
}

}  // namespace skein::durable
