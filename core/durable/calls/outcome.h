// An outcome as the ledger keeps it: the reply, behind a byte that says whether it is there.
#ifndef SKEIN_CORE_DURABLE_CALLS_OUTCOME_H_
#define SKEIN_CORE_DURABLE_CALLS_OUTCOME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace skein::durable {

inline std::string KeepOutcome(absl::string_view reply) { return absl::StrCat(absl::string_view("\0", 1), reply); }
// It was executed, but the reply found no space.
inline std::string OutcomeNotKept() { return "\1"; }
// The same of a service whose state is made of replies: it counts as if it had not been executed.
inline std::string OutcomeRefused() { return "\2"; }

// The reply; NOT_FOUND and RESOURCE_EXHAUSTED for the others.
inline absl::StatusOr<absl::string_view> ReplyOf(absl::string_view outcome) {
  if (!outcome.empty() && outcome[0] == 0) return outcome.substr(1);
  if (outcome == OutcomeRefused()) {
    return absl::ResourceExhaustedError(
        "the server's redo log had no space for the reply, so the call has had no effect; the service has to make "
        "checkpoints more often, or its log larger");
  }
  return absl::NotFoundError("executed; but its reply is not kept any more");
}

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_CALLS_OUTCOME_H_
