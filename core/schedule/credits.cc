#include "core/schedule/credits.h"

#include <algorithm>

namespace skein::schedule {

Credits::Credits(uint16_t credits, bool active) : credits_(credits) { Refill(active); }

void Credits::Refill(bool granted) {
  active_ = granted;
  balance_ = std::max(balance_, kReservedCredits) + (granted ? credits_ : 0);
}

void Credits::OnSent(size_t degree) {
  if (balance_ == 0) return;  // nobody asked CanSend
  --balance_;
  if (degree > 0) degrees_.push_back(static_cast<uint16_t>(std::min<size_t>(degree, UINT16_MAX)));
}

bool Credits::renewal_due() const {
  if (asked_) return false;
  return balance_ <= (active_ ? kReservedCredits + credits_ / 2 : kReservedCredits / 2);
}

uint16_t Credits::MedianDegree() {
  if (degrees_.empty()) return 0;
  const auto median = degrees_.begin() + static_cast<std::ptrdiff_t>((degrees_.size() - 1) / 2);
  std::nth_element(degrees_.begin(), median, degrees_.end());
  return *median;
}

void Credits::OnAsked() {
  asked_ = true;
  degrees_.clear();
}

absl::Status Credits::OnAnswer(bool granted) {
  if (!asked_) return absl::DataLossError("an answer to a renewal that was not asked for");
  asked_ = false;
  Refill(granted);
  return absl::OkStatus();
}

absl::Status Credits::OnActivated() {
  if (active_) return absl::DataLossError("an active queue pair was activated");
  Refill(true);
  return absl::OkStatus();
}

}  // namespace skein::schedule
