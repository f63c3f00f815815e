#include "core/fabric/sim/peer_watch.h"

#include <algorithm>

#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {

void PeerWatch::Ask() {
  if (!endpoint_.ready() || endpoint_.PeerAnswers()) return;
  asked_at_ = std::min(asked_at_, world_.events.now());
  Start();
}

void PeerWatch::PeerChanged() {
  if (endpoint_.PeerAnswers()) {
    unreachable_since_ = asked_at_ = absl::InfiniteFuture();
  } else {
    unreachable_since_ = std::min(unreachable_since_, world_.events.now());
  }
}

absl::Time PeerWatch::AskedSince() const { return std::min(asked_at_, endpoint_.requester().oldest_post()); }

bool PeerWatch::AsksInVain() const {
  return endpoint_.ready() && AskedSince() != absl::InfiniteFuture() && !endpoint_.PeerAnswers();
}

absl::Time PeerWatch::GivesUpAt() const {
  return std::max(unreachable_since_, AskedSince()) + world_.config.retry_time;
}

void PeerWatch::Start() {
  if (watching_ || !AsksInVain()) return;
  watching_ = true;
  world_.events.At(GivesUpAt(), [self = endpoint_.Shared(this)] { self->Look(); });
}

void PeerWatch::Look() {
  watching_ = false;
  if (!AsksInVain()) return;
  // The peer may have been back meanwhile, or what was outstanding then been answered: the clock began anew.
  if (world_.events.now() < GivesUpAt()) return Start();
  endpoint_.Fail(CompletionStatus::kRetryExceeded, absl::UnavailableError("the peer has stopped answering"));
}

}  // namespace skein::fabric::sim
