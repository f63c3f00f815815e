// The receiver-side scheduling of queue pairs (FLOCK 3.4.1), at one end of a channel: ring/ alone has it.
#ifndef SKEIN_CORE_CHANNEL_RENEWALS_H_
#define SKEIN_CORE_CHANNEL_RENEWALS_H_

#include "absl/status/status.h"

namespace skein::channel {

class Renewals {
 public:
  virtual ~Renewals() = default;

  // The peer's request for more credits, if one has come (receiving). Then the answer, which goes with the next message
  // or the next Tend (sending); DATA_LOSS: the peer has not waited for the last one.
  virtual bool TakeRenewal() { return false; }
  virtual bool renewal_waits() const { return false; }
  virtual absl::Status AnswerRenewal(bool /*granted*/) { return absl::OkStatus(); }
  // A sending method. The peer may send data here from now on. Nothing if it may already.
  virtual void Activate() {}
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RENEWALS_H_
