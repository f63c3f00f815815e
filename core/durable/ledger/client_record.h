// What the ledger knows of one client. Pure.
#ifndef SKEIN_CORE_DURABLE_LEDGER_CLIENT_RECORD_H_
#define SKEIN_CORE_DURABLE_LEDGER_CLIENT_RECORD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/durable/log/identity.h"
#include "core/durable/storage/persistence.h"

namespace skein::durable {

// How Accept ends. A duplicate was accepted before, and is not in the log again.
struct Acceptance {
  Persistence level = Persistence::kVisible;
  bool duplicate = false;
  bool finished = false;  // of duplicates: its outcome is safe, and to be had if it is still kept
};
using Accepted = absl::AnyInvocable<void(const absl::StatusOr<Acceptance>& acceptance)>;

enum class Stage : uint8_t {
  kAppended,   // in the log, not yet safe
  kReady,      // safe
  kRunning,    // taken, to be executed
  kFinishing,  // its outcome is in the log, not yet safe
  kFinished,   // its outcome is safe
};

struct RequestRecord {
  Stage stage = Stage::kAppended;
  std::optional<uint64_t> request;  // positions of entries that are wanted
  std::optional<uint64_t> outcome;
  uint64_t born = 0;             // position of the outcome's first entry: its age
  std::optional<uint64_t> kept;  // the outcome is; its number among all that are
  uint64_t request_bytes = 0;    // entries' sizes
  uint64_t outcome_bytes = 0;
  std::optional<uint64_t> rewritten;  // position of an entry that replaces the outcome's as soon as it is safe
  std::vector<Accepted> waiting;      // for it to be safe
};

// Sequences count from 1 without gaps; each is in one stage, and all up to the mark are finished.
struct ClientRecord {
  uint64_t last = 0;          // accepted
  uint64_t persisted = 0;     // up to here
  uint64_t mark = 0;          // all up to here are finished
  uint64_t acknowledged = 0;  // of these, all up to here: the client has their outcomes

  uint64_t written_mark = 0;              // the mark of the entry at:
  std::optional<uint64_t> mark_position;  // which is safe
  uint64_t next_written_mark = 0;         // the same of one that is not safe yet
  std::optional<uint64_t> next_mark_position;

  // Those that are not finished, whose outcome is kept, or that only their own outcome's entry proves finished.
  absl::btree_map<uint64_t, RequestRecord> requests;
  uint64_t queued = 0;     // up to here, all have been offered to be taken
  uint64_t active = 0;     // of these, not finished
  uint64_t kept = 0;       // outcomes
  uint64_t rewriting = 0;  // outcomes, of which one entry replaces another as soon as it is safe
  absl::Time heard;

  // Good until a request is added or erased.
  RequestRecord* Find(uint64_t sequence) {
    const auto found = requests.find(sequence);
    return found == requests.end() ? nullptr : &found->second;
  }
  bool IsFinished(uint64_t sequence) {
    const RequestRecord* const record = Find(sequence);
    return sequence <= mark || (record != nullptr && record->stage == Stage::kFinished);
  }
  // Behind a finished one; returns by how much.
  uint64_t AdvanceMark() {
    const uint64_t before = mark;
    for (auto next = requests.find(mark + 1);
         next != requests.end() && next->first == mark + 1 && next->second.stage == Stage::kFinished; ++next) {
      ++mark;
    }
    return mark - before;
  }
  // Whatever entries it has prove what nobody will ask any more.
  bool Idle() const { return last == mark && kept == 0 && rewriting == 0 && !next_mark_position; }
};

// Whose sequences are known.
using Clients = absl::flat_hash_map<ClientId, std::unique_ptr<ClientRecord>>;
inline ClientRecord* FindClient(const Clients& clients, const ClientId& id) {
  const auto found = clients.find(id);
  return found == clients.end() ? nullptr : found->second.get();
}

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LEDGER_CLIENT_RECORD_H_
