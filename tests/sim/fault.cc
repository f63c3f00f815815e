#include "tests/sim/fault.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace skein::chaos {

absl::string_view FaultName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kQueuePairError:
      return "queue pair error";
    case FaultKind::kDeath:
      return "death";
    case FaultKind::kPartition:
      return "partition";
    case FaultKind::kPause:
      return "pause";
    case FaultKind::kLateCompletions:
      return "late completions";
    case FaultKind::kLostCompletions:
      return "lost completions";
    case FaultKind::kNoMemory:
      return "no memory";
    case FaultKind::kNoQueuePair:
      return "no queue pair";
    case FaultKind::kNoQueue:
      return "no queue";
    case FaultKind::kOverflow:
      return "overflow";
    case FaultKind::kClockJump:
      return "clock jump";
    case FaultKind::kClose:
      return "close";
  }
  return "unknown";
}

std::string ToString(const Fault& fault) {
  return absl::StrCat(absl::FormatDuration(fault.at), " ", FaultName(fault.kind), " of process ", fault.process,
                      " (peer ", fault.peer, ", number ", fault.number, ", for ", absl::FormatDuration(fault.lasts),
                      ")");
}

std::string ToString(const Plan& plan) {
  std::string text;
  for (const Fault& fault : plan) absl::StrAppend(&text, "    ", ToString(fault), "\n");
  return text.empty() ? "    no faults\n" : text;
}

Plan DrawPlan(Dice& dice, size_t processes, absl::Duration length) {
  Plan plan;
  if (dice.OneIn(8)) return plan;
  // Few kinds at a time: what a death hides, a run without deaths shows.
  std::vector<FaultKind> kinds;
  for (uint64_t i = dice.Between(1, 4); i > 0; --i) kinds.push_back(static_cast<FaultKind>(dice.Below(kFaultKinds)));
  for (uint64_t i = dice.Between(1, 10); i > 0; --i) {
    Fault fault;
    fault.at = dice.Between(absl::ZeroDuration(), length);
    fault.kind = dice.Pick(kinds);
    fault.process = dice.Below(processes);
    fault.peer = (fault.process + 1 + dice.Below(processes - 1)) % processes;
    fault.number = dice.Below(1000);
    fault.lasts = dice.Between(absl::ZeroDuration(), dice.OneIn(2) ? length / 4 : length / 40);
    plan.push_back(fault);
  }
  std::stable_sort(plan.begin(), plan.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return plan;
}

}  // namespace skein::chaos
