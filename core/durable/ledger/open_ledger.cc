// How a ledger begins: with what its log has.
#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/durable/ledger/ledger.h"
#include "core/durable/ledger/replay.h"
#include "core/durable/log/layout.h"

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
  auto ledger = absl::WrapUnique(new Ledger(with_clients, *std::move(log)));
  if (absl::Status started = ledger->Start(replay); !started.ok()) return started;
  return ledger;
}

Ledger::Ledger(const LedgerOptions& options, std::unique_ptr<RedoLog> log)
    : options_(options),
      entries_(options_, clients_, *log),
      outcomes_(options_, clients_, entries_, *log, [this](const Wanted& entry) { OnRewritten(entry); }),
      log_(std::move(log)) {}

absl::Status Ledger::Start(Replay& replay) {
  const MutexLock lock(&mu_);
  if (absl::Status ended = replay.End(options_.now(), clients_, entries_, outcomes_); !ended.ok()) return ended;
  for (const auto& [id, client] : clients_) MakeReady(id, *client);
  return absl::OkStatus();
}

}  // namespace skein::durable
