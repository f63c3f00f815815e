#include "core/durable/ledger/replay.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/durable/ledger/kinds.h"
#include "core/durable/log/layout.h"

namespace skein::durable {

absl::Status Replay::Add(const Entry& entry) {
  const uint64_t first = entry.kind == kMark || entry.kind == kForget ? 0 : 1;
  if (entry.sequence < first || entry.sequence > kLastSequence) {
    return absl::DataLossError(absl::StrCat("the redo log has a sequence that no client sends: ", entry.sequence));
  }
  wanted.emplace(entry.position, Wanted{entry.client, entry.sequence, entry.kind});
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
  std::unique_ptr<ClientRecord>& client = clients[id];
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
  if (record.outcome) needless.push_back(*record.outcome);
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
  if (entry.sequence < client.written_mark) return needless.push_back(entry.position);
  if (client.mark_position) needless.push_back(*client.mark_position);
  client.mark_position = entry.position;
  client.written_mark = entry.sequence;
}

void Replay::AddForget(const Entry& entry) {
  const auto known = clients.find(entry.client);
  needless.push_back(entry.position);
  if (known == clients.end()) return;
  const ClientRecord& client = *known->second;
  for (const auto& [sequence, record] : client.requests) {
    for (const auto& position : {record.request, record.outcome}) {
      if (position) needless.push_back(*position);
    }
  }
  if (client.mark_position) needless.push_back(*client.mark_position);
  clients.erase(known);
}

}  // namespace skein::durable
