#include "core/schedule/credits.h"

#include <algorithm>

namespace skein::schedule {

Credits::Credits(uint16_t credits, bool active)
    : credits_(credits), balance_(kReservedCredits + (active ? credits : 0)), active_(active) {}

bool Credits::renewal_due() const {
  if (asked_) return false;
  return balance_ <= (active_ ? kReservedCredits + credits_ / 2 : kReservedCredits / 2);
}

// A queue pair that was inactive may have been activated once before the answer. It is inactive at the end only if the
// answer was no, and none of the refills came after it.
absl::Status Credits::OnTold(uint16_t answers, uint16_t refills, bool active) {
  if (answers > (asked_ ? 1 : 0)) return absl::DataLossError("an answer to a renewal that was not asked for");
  const int before_answer = active_ ? 0 : 1;
  if (refills > answers + before_answer) return absl::DataLossError("an active queue pair was activated");
  const bool unchanged = answers == 0 && refills == 0;
  const bool possible = active ? refills > 0 : answers > 0 && refills <= before_answer;
  if (unchanged ? active != active_ : !possible) return absl::DataLossError("credits that no answer leads to");
  if (unchanged) return absl::OkStatus();
  if (answers > 0) asked_ = false;
  active_ = active;
  balance_ = std::max(balance_, kReservedCredits) + refills * credits_;
  return absl::OkStatus();
}

}  // namespace skein::schedule
