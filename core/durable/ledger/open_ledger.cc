// What the ledger was before a crash, from the entries of its log.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/ledger/kinds.h"
#include "core/durable/ledger/ledger.h"
#include "core/durable/log/layout.h"
#include "core/trace/counters.h"

namespace skein::durable {
namespace {

constexpr uint64_t kMostClients = 16384;

LedgerOptions WithClients(const LedgerOptions& options, uint64_t storage_bytes) {
  LedgerOptions out = options;
  if (out.clients == 0) out.clients = std::clamp<uint64_t>(storage_bytes / 16 / EntryBytes(0), 1, kMostClients);
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(std::unique_ptr<Storage> storage, const LedgerOptions& options) {
  auto ledger = absl::WrapUnique(new Ledger(WithClients(options, storage->size())));
  if (absl::Status fits = ledger->CheckOptions(storage->size()); !fits.ok()) return fits;
  absl::StatusOr<std::unique_ptr<RedoLog>> log = RedoLog::Open(
      std::move(storage), options.log, [&ledger](const Entry& entry) { return ledger->OnRecovered(entry); });
  if (!log.ok()) return log.status();
  ledger->log_ = *std::move(log);
  if (absl::Status started = ledger->Start(); !started.ok()) return started;
  return ledger;
}

absl::Status Ledger::CheckOptions(uint64_t storage_bytes) const {
  if (options_.client_window == 0) return absl::InvalidArgumentError("a client needs space for a request");
  const uint64_t needed = kRingOffset + 4 * (options_.clients * EntryBytes(0) + 4 * RoomOfOne());
  if (storage_bytes >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a redo log of ", storage_bytes, " bytes is too small for ",
                                                 options_.clients, " clients with outcomes of ", options_.outcome_room,
                                                 " bytes; make it ", needed, " or more"));
}

absl::Status Ledger::OnRecovered(const Entry& entry) {
  const MutexLock lock(&mu_);
  const uint64_t first = entry.kind == kMark || entry.kind == kForget ? 0 : 1;
  if (entry.sequence < first || entry.sequence > kLastSequence) {
    return absl::DataLossError(absl::StrCat("the redo log has a sequence that no client sends: ", entry.sequence));
  }
  wanted_.emplace(entry.position, Wanted{entry.client, entry.sequence, entry.kind});
  switch (entry.kind) {
    case kRequest:
      return OnRecoveredRequest(entry);
    case kOutcome:
    case kCarried:
    case kFinished:
      return OnRecoveredOutcome(entry);
    case kMark:
      OnRecoveredMark(entry);
      return absl::OkStatus();
    case kForget:
      OnRecoveredForget(entry);
      return absl::OkStatus();
    default:
      return absl::DataLossError(absl::StrCat("the redo log has an entry of unknown kind ", entry.kind));
  }
}

ClientRecord& Ledger::RecoveredClient(const ClientId& id) {
  std::unique_ptr<ClientRecord>& client = clients_[id];
  if (client == nullptr) client = std::make_unique<ClientRecord>();
  return *client;
}

absl::Status Ledger::OnRecoveredRequest(const Entry& entry) {
  ClientRecord& client = RecoveredClient(entry.client);
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

absl::Status Ledger::OnRecoveredOutcome(const Entry& entry) {
  RequestRecord& record = RecoveredClient(entry.client).requests[entry.sequence];
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

void Ledger::OnRecoveredMark(const Entry& entry) {
  ClientRecord& client = RecoveredClient(entry.client);
  client.acknowledged = std::max(client.acknowledged, AcknowledgedBy(entry));
  // The highest counts, so it is what stays.
  if (entry.sequence < client.written_mark) return needless_.push_back(entry.position);
  if (client.mark_position) needless_.push_back(*client.mark_position);
  client.mark_position = entry.position;
  client.written_mark = entry.sequence;
}

void Ledger::OnRecoveredForget(const Entry& entry) {
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

absl::Status Ledger::Start() {
  const MutexLock lock(&mu_);
  for (std::optional<uint64_t> position : needless_) Release(position);
  needless_.clear();
  for (const auto& [unused_id, client] : clients_) {
    if (absl::Status started = StartClient(*client); !started.ok()) return started;
  }
  KeepRecovered();
  for (const auto& [id, client] : clients_) MakeReady(id, *client);
  return absl::OkStatus();
}

// Oldest first, wherever they have been carried. How long they have been kept counts from now.
void Ledger::KeepRecovered() {
  absl::btree_multimap<uint64_t, Wanted> kept;  // by age
  for (const auto& [position, wanted] : wanted_) {
    const RequestRecord* const record = FindClient(wanted.client)->Find(wanted.sequence);
    if (record != nullptr && record->kept && record->outcome == position) kept.emplace(record->born, wanted);
  }
  for (const auto& [born, wanted] : kept) {
    Keep(wanted.client, wanted.sequence, *FindClient(wanted.client)->Find(wanted.sequence));
  }
  LetGoOfTooMany();
}

absl::Status Ledger::StartClient(ClientRecord& client) {
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
  client.heard = options_.now();
  for (const uint64_t sequence : sequences) {
    RequestRecord& record = *client.Find(sequence);
    if (record.stage == Stage::kFinished) {
      if (sequence <= client.acknowledged) record.kept.reset();
      Release(record.request);
      if (sequence > client.mark) ++out_of_order_;
      ReleaseIfNeedless(client, sequence);
    } else if (sequence <= client.written_mark) {
      Release(record.request);
      client.requests.erase(sequence);
    } else {
      CountUnfinished(1, static_cast<int64_t>(record.request_bytes));
      trace::Count(trace::Counter::kDurableReplayed);
    }
  }
  return absl::OkStatus();
}

}  // namespace skein::durable
