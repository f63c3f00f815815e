// How two endpoints find each other. Offers and answers are looked up whole, so that any byte of them that a peer
// changed makes them unknown.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {

absl::StatusOr<std::string> Endpoint::Offer() {
  if (state_ != QueuePairState::kReset || !offer_.empty()) {
    return absl::FailedPreconditionError("the queue pair is connected, in error or has made its offer");
  }
  offer_ = absl::StrCat("skein-sim offer ", device_->name, "#", number_, " ", absl::Hex(world_.random.Next()));
  world_.offers[offer_] = weak_from_this();
  return offer_;
}

absl::StatusOr<std::string> Endpoint::Accept(absl::string_view offer) {
  if (state_ != QueuePairState::kReset || !offer_.empty()) {
    return absl::FailedPreconditionError("the queue pair is connected, in error or has made an offer itself");
  }
  const auto found = world_.offers.find(offer);
  if (found == world_.offers.end()) {
    return absl::InvalidArgumentError("not an offer of this simulation, or one accepted before");
  }
  const auto active = found->second.lock();
  world_.offers.erase(found);
  if (active == nullptr) return absl::UnavailableError("the offering queue pair is gone");

  active->answer_ =
      absl::StrCat("skein-sim answer ", device_->name, "#", number_, " ", absl::Hex(world_.random.Next()));
  active->peer_ = weak_from_this();
  active->peer_device_ = device_->name;
  peer_ = active;
  peer_device_ = active->device_->name;
  state_ = QueuePairState::kReady;
  PeerChanged();  // which does not answer before it has completed
  return active->answer_;
}

absl::Status Endpoint::Complete(absl::string_view answer) {
  if (state_ != QueuePairState::kReset || offer_.empty()) {
    return absl::FailedPreconditionError("the queue pair is connected, in error or has made no offer");
  }
  if (answer_.empty() || answer != answer_) return absl::InvalidArgumentError("not the answer to this offer");
  const auto peer = peer_.lock();
  if (peer == nullptr || peer->state_ != QueuePairState::kReady) {
    return absl::UnavailableError("the accepting queue pair is gone");
  }
  state_ = QueuePairState::kReady;
  peer->PeerChanged();
  PeerChanged();
  return absl::OkStatus();
}

}  // namespace skein::fabric::sim
