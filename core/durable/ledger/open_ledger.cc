// How a ledger begins: with what its log has.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/ledger/ledger.h"
#include "core/durable/ledger/replay.h"
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

absl::Status CheckOptions(const LedgerOptions& options, uint64_t storage_bytes) {
  if (options.client_window == 0) return absl::InvalidArgumentError("a client needs space for a request");
  const uint64_t needed = kRingOffset + 4 * (options.clients * EntryBytes(0) + 4 * RoomOfOne(options));
  if (storage_bytes >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a redo log of ", storage_bytes, " bytes is too small for ",
                                                 options.clients, " clients with outcomes of ", options.outcome_room,
                                                 " bytes; make it ", needed, " or more"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(std::unique_ptr<Storage> storage, const LedgerOptions& options) {
  const LedgerOptions with_clients = WithClients(options, storage->size());
  if (absl::Status fits = CheckOptions(with_clients, storage->size()); !fits.ok()) return fits;
  Replay replay;
  absl::StatusOr<std::unique_ptr<RedoLog>> log =
      RedoLog::Open(std::move(storage), options.log, [&replay](const Entry& entry) { return replay.Add(entry); });
  if (!log.ok()) return log.status();
  auto ledger = absl::WrapUnique(new Ledger(with_clients, *std::move(log), replay));
  if (absl::Status started = ledger->Start(replay.needless); !started.ok()) return started;
  return ledger;
}

Ledger::Ledger(const LedgerOptions& options, std::unique_ptr<RedoLog> log, Replay& replay)
    : options_(options), clients_(std::move(replay.clients)), wanted_(std::move(replay.wanted)), log_(std::move(log)) {}

absl::Status Ledger::Start(const std::vector<uint64_t>& needless) {
  const MutexLock lock(&mu_);
  for (std::optional<uint64_t> position : needless) Release(position);
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
    const RequestRecord* const record = FindClient(clients_, wanted.client)->Find(wanted.sequence);
    if (record != nullptr && record->kept && record->outcome == position) kept.emplace(record->born, wanted);
  }
  for (const auto& [born, wanted] : kept) {
    Keep(wanted.client, wanted.sequence, *FindClient(clients_, wanted.client)->Find(wanted.sequence));
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
