// An outcome as the ledger keeps it: the reply, behind a byte that says whether it is there.
#ifndef SKEIN_CORE_DURABLE_CALLS_OUTCOME_H_
#define SKEIN_CORE_DURABLE_CALLS_OUTCOME_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace skein::durable {

inline std::string KeepOutcome(absl::string_view reply) { return absl::StrCat(absl::string_view("\0", 1), reply); }
// It was executed, but the reply found no room.
inline std::string OutcomeNotKept() { return "\1"; }
inline bool KeptOutcome(absl::string_view outcome) { return !outcome.empty() && outcome[0] == 0; }
inline absl::string_view OutcomeBytes(absl::string_view outcome) { return outcome.substr(1); }

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_CALLS_OUTCOME_H_
