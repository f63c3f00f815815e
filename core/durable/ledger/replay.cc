#include "core/durable/ledger/replay.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "core/durable/ledger/kinds.h"
#include "core/durable/log/layout.h"
#include "core/trace/counters.h"

namespace skein::durable {
namespace {

absl::Status StartClient(absl::Time now, ClientRecord& client, WantedEntries& entries, Outcomes& outcomes) {
  std::vector<uint64_t> sequences;
  uint64_t behind_mark = 0;
  client.last = client.written_mark;
  for (const auto& [sequence, record] : client.requests) {
    sequences.push_back(sequence);
    if (sequence > client.written_mark) ++behind_mark;
    client.last = std::max(client.last, sequence);
  }
  if (client.last - client.written_mark != behind_mark) {
    return absl::DataLossError(
        "the redo log lacks requests of a client that came before others; restore it from a copy");
  }
  client.mark = client.written_mark;
  client.AdvanceMark();
  client.persisted = client.last;
  client.queued = client.mark;
  client.heard = now;
  for (const uint64_t sequence : sequences) {
    RequestRecord& record = *client.Find(sequence);
    if (record.stage == Stage::kFinished) {
      if (sequence <= client.acknowledged) record.kept.reset();
      entries.Release(record.request);
      if (sequence > client.mark) entries.CountOutOfOrder(1);
      outcomes.ReleaseIfNeedless(client, sequence);
    } else if (sequence <= client.written_mark) {
      entries.Release(record.request);
      client.requests.erase(sequence);
    } else {
      entries.CountUnfinished(1, static_cast<int64_t>(record.request_bytes));
      trace::Count(trace::Counter::kDurableReplayed);
    }
  }
  return absl::OkStatus();
}

// Oldest first, wherever they have been carried. How long they have been kept counts from now.
void KeepOutcomes(const Clients& clients, const WantedEntries& entries, Outcomes& outcomes) {
  absl::btree_multimap<uint64_t, Wanted> kept;  // by age
  for (const auto& [position, wanted] : entries.by_position()) {
    const RequestRecord* const record = FindClient(clients, wanted.client)->Find(wanted.sequence);
    if (record != nullptr && record->kept && record->outcome == position) kept.emplace(record->born, wanted);
  }
  for (const auto& [born, wanted] : kept) {
    outcomes.Keep(wanted.client, *FindClient(clients, wanted.client), wanted.sequence);
  }
  outcomes.LetGoOfTooMany();
}

}  // namespace

absl::Status Replay::Add(const Entry& entry) {
  const uint64_t first = entry.kind == kMark || entry.kind == kForget ? 0 : 1;
  if (entry.sequence < first || entry.sequence > kLastSequence) {
    return absl::DataLossError(absl::StrCat("the redo log has a sequence that no client sends: ", entry.sequence));
  }
  wanted_.emplace(entry.position, Wanted{entry.client, entry.sequence, entry.kind});
  switch (entry.kind) {
    case kRequest:
      return AddRequest(entry);
    case kOutcome:
    case kCarried:
    case kFinished:
      return AddOutcome(entry);
    case kMark:
      AddMark(entry);
      return absl::OkStatus();
    case kForget:
      AddForget(entry);
      return absl::OkStatus();
    default:
      return absl::DataLossError(absl::StrCat("the redo log has an entry of unknown kind ", entry.kind));
  }
}

ClientRecord& Replay::Client(const ClientId& id) {
  std::unique_ptr<ClientRecord>& client = clients_[id];
  if (client == nullptr) client = std::make_unique<ClientRecord>();
  return *client;
}

absl::Status Replay::AddRequest(const Entry& entry) {
  ClientRecord& client = Client(entry.client);
  client.acknowledged = std::max(client.acknowledged, AcknowledgedBy(entry));
  RequestRecord& record = client.requests[entry.sequence];
  if (record.request || record.outcome) {
    return absl::DataLossError(absl::StrCat("the redo log has sequence ", entry.sequence, " of a client twice"));
  }
  record.stage = Stage::kReady;
  record.request = entry.position;
  record.request_bytes = EntryBytes(entry.payload.size());
  return absl::OkStatus();
}

absl::Status Replay::AddOutcome(const Entry& entry) {
  RequestRecord& record = Client(entry.client).requests[entry.sequence];
  if (record.outcome) needless_.push_back(*record.outcome);
  record.stage = Stage::kFinished;
  record.outcome = entry.position;
  record.outcome_bytes = EntryBytes(entry.payload.size());
  record.kept.reset();
  if (entry.kind != kFinished) record.kept = 0;  // its number comes at the end
  record.born = entry.position;
  if (entry.kind != kCarried) return absl::OkStatus();
  if (entry.payload.size() < sizeof(record.born)) return absl::DataLossError("the redo log has an outcome cut short");
  std::memcpy(&record.born, entry.payload.data(), sizeof(record.born));
  return absl::OkStatus();
}

void Replay::AddMark(const Entry& entry) {
  ClientRecord& client = Client(entry.client);
  client.acknowledged = std::max(client.acknowledged, AcknowledgedBy(entry));
  // The highest counts, so it is what stays.
  if (entry.sequence < client.written_mark) return needless_.push_back(entry.position);
  if (client.mark_position) needless_.push_back(*client.mark_position);
  client.mark_position = entry.position;
  client.written_mark = entry.sequence;
}

void Replay::AddForget(const Entry& entry) {
  const auto known = clients_.find(entry.client);
  needless_.push_back(entry.position);
  if (known == clients_.end()) return;
  const ClientRecord& client = *known->second;
  for (const auto& [sequence, record] : client.requests) {
    for (const auto& position : {record.request, record.outcome}) {
      if (position) needless_.push_back(*position);
    }
  }
  if (client.mark_position) needless_.push_back(*client.mark_position);
  clients_.erase(known);
}

absl::Status Replay::End(absl::Time now, Clients& clients, WantedEntries& entries, Outcomes& outcomes) {
  clients = std::move(clients_);
  entries.Restore(std::move(wanted_));
  for (std::optional<uint64_t> position : needless_) entries.Release(position);
  for (const auto& [unused_id, client] : clients) {
    if (absl::Status started = StartClient(now, *client, entries, outcomes); !started.ok()) return started;
  }
  KeepOutcomes(clients, entries, outcomes);
  return absl::OkStatus();
}

}  // namespace skein::durable
