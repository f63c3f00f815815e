#include "core/durable/replicas/promotion.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/durable/log/identity.h"
#include "core/durable/log/log_header.h"
#include "core/durable/log/recovery.h"
#include "core/durable/replicas/log_view.h"

namespace skein::durable {
namespace {

// What the others have said.
struct Seen {
  uint32_t logs = 1;
  uint64_t highest_term = 0;
  std::string ahead;    // one that is
  std::string missing;  // which, and why
};

Seen Ask(absl::Span<const OtherReplica> others, const ReplicaRequest& request, const ReplicaState& own) {
  Seen seen{.logs = 1, .highest_term = own.standing.promised.number, .ahead = {}, .missing = {}};
  for (const OtherReplica& other : others) {
    const absl::StatusOr<ReplicaAnswer> answer = other.ask(request);
    const absl::Status status = answer.ok() ? answer->status : answer.status();
    if (!status.ok()) {
      absl::StrAppend(&seen.missing, "; ", other.name, ": ", status.message());
      continue;
    }
    ++seen.logs;
    seen.highest_term = std::max(seen.highest_term, answer->standing.promised.number);
    const Progress theirs{.content = answer->standing.content, .epoch = answer->epoch, .tail = answer->tail};
    if (IsBehind(own.progress, theirs)) seen.ahead = other.name;
  }
  return seen;
}

absl::Status CheckNames(absl::Span<const OtherReplica> others) {
  absl::flat_hash_set<absl::string_view> names;
  for (const OtherReplica& other : others) {
    if (!names.insert(other.name).second)
      return absl::InvalidArgumentError(absl::StrCat(other.name, " is named twice"));
  }
  return absl::OkStatus();
}

absl::Status Judge(const Seen& seen, uint32_t needed, const Standing& standing, bool accept_loss) {
  if (accept_loss) return absl::OkStatus();
  if (!seen.ahead.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the log of ", seen.ahead, " goes further: promote that one, or lose what this one lacks"));
  }
  if (seen.logs >= needed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "of ", standing.logs, " logs ", standing.acknowledge, " have what was acknowledged: ", needed,
      " must be looked at to find all of it, and ", seen.logs, " were", seen.missing, "; name more replicas that run"));
}

}  // namespace

absl::StatusOr<ReplicaState> ReadReplica(const Storage& replica) {
  uint64_t magic = 0;
  const absl::Status read = replica.Read(0, {reinterpret_cast<char*>(&magic), sizeof(magic)});
  if (!read.ok()) return read;
  if (magic == kLogMagic) return absl::FailedPreconditionError("this is a log that a server opens as it is");
  if (magic != kReplicaMagic) return absl::FailedPreconditionError("this is no replica's log");
  const absl::StatusOr<Standing> standing = ReadStanding(replica);
  if (!standing.ok()) return standing.status();
  if (standing->logs == 0) return absl::FailedPreconditionError("this replica has not got its primary's log yet");
  const LogView view(replica);
  const absl::StatusOr<Recovered> recovered = Recover(view, [](const Entry&) { return absl::OkStatus(); });
  if (!recovered.ok()) return recovered.status();
  return ReplicaState{.standing = *standing,
                      .progress = {standing->content, recovered->epoch, recovered->tail},
                      .identity = recovered->header.identity};
}

absl::StatusOr<Promotion> Promote(Storage& replica, absl::Span<const OtherReplica> others, bool accept_loss) {
  if (absl::Status named = CheckNames(others); !named.ok()) return named;
  const absl::StatusOr<ReplicaState> own = ReadReplica(replica);
  if (!own.ok()) return own.status();
  const Standing& before = own->standing;
  Promotion promotion{.term = {}, .seen = 0, .needed = before.logs - std::min(before.acknowledge, before.logs) + 1};
  ReplicaRequest request{.verb = ReplicaVerb::kShow, .identity = own->identity, .bytes = replica.size()};
  // First without an effect: a primary that lives is not to be stopped by a promotion that then fails.
  Seen seen = Ask(others, request, *own);
  absl::Status status = Judge(seen, promotion.needed, before, accept_loss);
  if (!status.ok()) return status;
  promotion.term = {.number = seen.highest_term + 1, .id = RandomId()};
  request.verb = ReplicaVerb::kPromise;
  request.term = promotion.term;
  seen = Ask(others, request, *own);
  status = Judge(seen, promotion.needed, before, accept_loss);
  promotion.seen = seen.logs;
  const Standing standing{
      .promised = promotion.term, .content = promotion.term, .logs = before.logs, .acknowledge = before.acknowledge};
  if (status.ok()) status = WriteStanding(replica, standing);
  if (status.ok()) status = replica.WriteWord(0, kLogMagic);
  if (status.ok()) status = replica.Persist(0, sizeof(kLogMagic));
  if (!status.ok()) return status;
  return promotion;
}

}  // namespace skein::durable
