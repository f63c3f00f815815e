// The sender's credits of one queue pair (FLOCK 3.4.1): how many messages it may still send there, and when to ask for
// more. A credit is one message, however many requests are coalesced in it.
#ifndef SKEIN_CORE_SCHEDULE_CREDITS_H_
#define SKEIN_CORE_SCHEDULE_CREDITS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace skein::schedule {

inline constexpr uint16_t kDefaultCredits = 32;  // C
inline constexpr uint32_t kReservedCredits = 8;  // on top of C; for control only

class Credits {
 public:
  enum class Use : uint8_t { kData, kControl };

  // `credits`: C, as told by the receiver. An inactive queue pair has only the reserve.
  Credits(uint16_t credits, bool active);

  // Data leaves the reserve alone. Renewals and grants themselves cost no credit: they could wait for each other.
  bool CanSend(Use use) const { return balance_ > (use == Use::kData ? kReservedCredits : 0); }
  // A message for which CanSend held was posted.
  void OnSent() { balance_ -= balance_ > 0 ? 1 : 0; }

  // To ask now: half is gone and nothing is asked yet. The next message carries the renewal; one of its own does if
  // none may be sent.
  bool renewal_due() const;
  void OnAsked() { asked_ = true; }

  // The answer to a renewal. Either way the reserve is whole again; declined, what data has left may be used up.
  // DATA_LOSS when nothing was asked.
  absl::Status OnAnswer(bool granted) { return OnTold(1, granted ? 1 : 0, granted); }
  // The receiver chose the queue pair again. DATA_LOSS when it is active.
  absl::Status OnActivated() { return OnTold(0, 1, /*active=*/true); }
  // Any of these that followed each other: so many answers, C credits so many times, and how it is now. Their order
  // makes no difference. DATA_LOSS when no order of them leads there.
  absl::Status OnTold(uint16_t answers, uint16_t refills, bool active);

  // False from a decline to the next activation: move away what sends here.
  bool active() const { return active_; }

 private:
  uint32_t credits_;
  // At most C and half of C more, or 2 C if activated while asking, and the reserve.
  uint32_t balance_ = 0;
  bool active_ = false;
  bool asked_ = false;
};

}  // namespace skein::schedule

#endif  // SKEIN_CORE_SCHEDULE_CREDITS_H_
