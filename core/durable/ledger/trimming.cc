// Making space at the log's head: the ledger writes the entries that are still wanted again at the tail.
#include <optional>
#include <string>

#include "core/durable/ledger/kinds.h"
#include "core/durable/ledger/ledger.h"

namespace skein::durable {
namespace {

// In one batch: few enough that no caller waits long while the ledger makes space for others.
constexpr int kRewritesAtOnce = 64;

}  // namespace

// What must stay free, whoever asks: an outcome for each request that is not finished, an entry for each fact that may
// have to be written again, and what one of them may have to leave out at the ring's end. So whatever has been accepted
// can be finished, and the head can always move.
uint64_t Ledger::Reserved() const {
  return (unfinished_ + 1) * RoomOfOne(options_) + (clients_.size() + 1 + out_of_order_) * EntryBytes(0);
}

absl::StatusOr<uint64_t> Ledger::Append(const Entry& entry, uint64_t keep_free, RedoLog::Persisted done) {
  absl::StatusOr<uint64_t> position = log_->Append(entry, keep_free, std::move(done));
  if (position.ok()) wanted_.emplace(*position, Wanted{entry.client, entry.sequence, entry.kind});
  return position;
}

void Ledger::Release(std::optional<uint64_t>& position) {
  if (!position) return;
  wanted_.erase(*position);
  log_->Release(*position);
  position.reset();
}

// Once more than half of the ring is used. What comes to the head then is old: of what is behind it, most is needless
// by now.
void Ledger::Trim() {
  LetGoOfTooMany();
  const RedoLog::Usage usage = log_->usage();
  if (usage.used <= usage.capacity / 2) return;
  const uint64_t goal = usage.head + usage.used - usage.capacity / 2;
  for (int i = 0; i < kRewritesAtOnce; ++i) {
    const auto next = wanted_.lower_bound(trimmed_to_);
    if (next == wanted_.end() || next->first >= goal) return;
    const uint64_t position = next->first;
    const Wanted wanted = next->second;  // the table changes
    if (!MakeNeedless(position, wanted)) return;
    trimmed_to_ = position + 1;
  }
}

bool Ledger::MakeNeedless(uint64_t position, const Wanted& wanted) {
  switch (wanted.kind) {
    case kRequest:
      return false;  // only its outcome can
    case kForget:
      return true;  // needless as soon as it is safe
    case kMark:
      return MakeMarkNeedless(position, wanted);
    default:
      return MakeOutcomeNeedless(position, wanted);
  }
}

bool Ledger::MakeMarkNeedless(uint64_t position, const Wanted& wanted) {
  ClientRecord* const client = FindClient(clients_, wanted.client);
  // Of a client that is being forgotten, or has begun anew.
  if (client == nullptr || (client->mark_position != position && client->next_mark_position != position)) return true;
  return client->next_mark_position != position && WriteMark(wanted.client, *client, /*keep_free=*/0);
}

bool Ledger::MakeOutcomeNeedless(uint64_t position, const Wanted& wanted) {
  ClientRecord* const known = FindClient(clients_, wanted.client);
  RequestRecord* const found = known == nullptr ? nullptr : known->Find(wanted.sequence);
  // Of a client that is being forgotten, or has begun anew.
  if (found == nullptr || (found->outcome != position && found->rewritten != position)) return true;
  ClientRecord& client = *known;
  RequestRecord& record = *found;
  if (record.stage != Stage::kFinished || record.rewritten == position || IsHeld(position)) return false;
  if (record.rewritten) return true;
  if (record.kept) {
    if (Rewrite(wanted, record, kCarried)) return true;
    LetGo(client, wanted.sequence, record);
    if (client.Find(wanted.sequence) == nullptr) return true;
  }
  if (wanted.sequence > client.mark) return Rewrite(wanted, record, kFinished);
  return WriteMark(wanted.client, client, /*keep_free=*/0) && client.next_written_mark >= wanted.sequence;
}

bool Ledger::WriteMark(const ClientId& id, ClientRecord& client, uint64_t keep_free) {
  if (client.next_mark_position) return true;
  const Entry mark{.kind = kMark,
                   .client = id,
                   .sequence = client.mark,
                   .tag = AheadTag(client.mark, client.acknowledged),
                   .payload = {}};
  const absl::StatusOr<uint64_t> position = Append(mark, keep_free, [this, id](const absl::Status& status) {
    if (status.ok()) OnMark(id);
  });
  if (!position.ok()) return false;
  client.next_written_mark = client.mark;
  client.next_mark_position = *position;
  return true;
}

void Ledger::OnMark(const ClientId& id) {
  const MutexLock lock(&mu_);
  ClientRecord& client = *FindClient(clients_, id);
  Release(client.mark_position);
  std::swap(client.mark_position, client.next_mark_position);
  const uint64_t before = client.written_mark;
  client.written_mark = client.next_written_mark;
  for (auto next = client.requests.upper_bound(before);
       next != client.requests.end() && next->first <= client.written_mark;) {
    const uint64_t sequence = next->first;
    ReleaseIfNeedless(client, sequence);
    next = client.requests.upper_bound(sequence);
  }
}

bool Ledger::Rewrite(const Wanted& wanted, RequestRecord& record, EntryKind kind) {
  std::string payload;
  if (kind == kCarried) {
    const absl::StatusOr<Entry> entry = log_->Read(*record.outcome, payload);
    if (!entry.ok()) return false;
    if (entry->kind != kCarried) payload.insert(0, reinterpret_cast<const char*>(&record.born), sizeof(record.born));
  }
  // Copies of outcomes never take the last quarter: before that, outcomes are let go.
  const uint64_t keep_free = kind == kCarried ? Reserved() + log_->usage().capacity / 4 : 0;
  const absl::StatusOr<uint64_t> position =
      Append({.kind = kind, .client = wanted.client, .sequence = wanted.sequence, .payload = payload}, keep_free,
             [this, id = wanted.client, sequence = wanted.sequence](const absl::Status& status) {
               if (status.ok()) OnRewritten(id, sequence);
             });
  if (!position.ok()) return false;
  record.rewritten = *position;
  ++FindClient(clients_, wanted.client)->rewriting;
  return true;
}

void Ledger::OnRewritten(const ClientId& id, uint64_t sequence) {
  const MutexLock lock(&mu_);
  ClientRecord& client = *FindClient(clients_, id);
  RequestRecord& record = *client.Find(sequence);
  --client.rewriting;
  Release(record.outcome);
  std::swap(record.outcome, record.rewritten);
  ReleaseIfNeedless(client, sequence);
}

}  // namespace skein::durable
