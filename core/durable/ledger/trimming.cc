// Making space at the log's head: entries that are still wanted are written again at the tail.
#include <optional>
#include <string>
#include <utility>

#include "core/durable/ledger/kinds.h"
#include "core/durable/ledger/outcomes.h"

namespace skein::durable {
namespace {

// In one batch: few enough that no caller waits long while the ledger makes space for others.
constexpr int kRewritesAtOnce = 64;

}  // namespace

// Once more than half of the ring is used. What comes to the head then is old: of what is behind it, most is needless
// by now.
void Outcomes::Trim() {
  LetGoOfTooMany();
  const RedoLog::Usage usage = log_.usage();
  if (usage.used <= usage.capacity / 2) return;
  const uint64_t goal = usage.head + usage.used - usage.capacity / 2;
  for (int i = 0; i < kRewritesAtOnce; ++i) {
    const auto next = entries_.by_position().lower_bound(trimmed_to_);
    if (next == entries_.by_position().end() || next->first >= goal) return;
    const uint64_t position = next->first;
    const Wanted wanted = next->second;  // the table changes
    if (!MakeNeedless(position, wanted)) return;
    trimmed_to_ = position + 1;
  }
}

bool Outcomes::MakeNeedless(uint64_t position, const Wanted& wanted) {
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

bool Outcomes::MakeMarkNeedless(uint64_t position, const Wanted& wanted) {
  ClientRecord* const client = FindClient(clients_, wanted.client);
  // Of a client that is being forgotten, or has begun anew.
  if (client == nullptr || (client->mark_position != position && client->next_mark_position != position)) return true;
  return client->next_mark_position != position && WriteMark(wanted.client, *client, /*keep_free=*/0);
}

bool Outcomes::MakeOutcomeNeedless(uint64_t position, const Wanted& wanted) {
  ClientRecord* const known = FindClient(clients_, wanted.client);
  RequestRecord* const found = known == nullptr ? nullptr : known->Find(wanted.sequence);
  // Of a client that is being forgotten, or has begun anew.
  if (found == nullptr || (found->outcome != position && found->rewritten != position)) return true;
  ClientRecord& client = *known;
  RequestRecord& record = *found;
  if (record.stage != Stage::kFinished || record.rewritten == position || IsHeld(position)) return false;
  if (record.rewritten) return true;
  if (record.kept) {
    if (Rewrite(wanted, client, record, kCarried)) return true;
    LetGo(client, wanted.sequence, record);
    if (client.Find(wanted.sequence) == nullptr) return true;
  }
  if (wanted.sequence > client.mark) return Rewrite(wanted, client, record, kFinished);
  return WriteMark(wanted.client, client, /*keep_free=*/0) && client.next_written_mark >= wanted.sequence;
}

bool Outcomes::WriteMark(const ClientId& id, ClientRecord& client, uint64_t keep_free) {
  if (client.next_mark_position) return true;
  const Entry mark{.kind = kMark,
                   .client = id,
                   .sequence = client.mark,
                   .tag = AheadTag(client.mark, client.acknowledged),
                   .payload = {}};
  const absl::StatusOr<uint64_t> position = AppendAgain(mark, keep_free);
  if (!position.ok()) return false;
  client.next_written_mark = client.mark;
  client.next_mark_position = *position;
  return true;
}

void Outcomes::OnMark(ClientRecord& client) {
  entries_.Release(client.mark_position);
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

bool Outcomes::Rewrite(const Wanted& wanted, ClientRecord& client, RequestRecord& record, EntryKind kind) {
  std::string payload;
  if (kind == kCarried) {
    const absl::StatusOr<Entry> entry = log_.Read(*record.outcome, payload);
    if (!entry.ok()) return false;
    if (entry->kind != kCarried) payload.insert(0, reinterpret_cast<const char*>(&record.born), sizeof(record.born));
  }
  // Copies of outcomes never take the last quarter: before that, outcomes are let go.
  const uint64_t keep_free = kind == kCarried ? entries_.Reserved() + log_.usage().capacity / 4 : 0;
  const absl::StatusOr<uint64_t> position =
      AppendAgain({.kind = kind, .client = wanted.client, .sequence = wanted.sequence, .payload = payload}, keep_free);
  if (!position.ok()) return false;
  record.rewritten = *position;
  ++client.rewriting;
  return true;
}

absl::StatusOr<uint64_t> Outcomes::AppendAgain(const Entry& entry, uint64_t keep_free) {
  return entries_.Append(entry, keep_free,
                         [this, wanted = Wanted{entry.client, entry.sequence, entry.kind}](const absl::Status& status) {
                           if (status.ok()) rewritten_(wanted);
                         });
}

void Outcomes::OnRewritten(const Wanted& entry) {
  ClientRecord& client = *FindClient(clients_, entry.client);
  if (entry.kind == kMark) return OnMark(client);
  RequestRecord& record = *client.Find(entry.sequence);
  --client.rewriting;
  entries_.Release(record.outcome);
  std::swap(record.outcome, record.rewritten);
  ReleaseIfNeedless(client, entry.sequence);
}

}  // namespace skein::durable
