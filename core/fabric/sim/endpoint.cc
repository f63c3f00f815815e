#include "core/fabric/sim/endpoint.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::fabric::sim {

Endpoint::Endpoint(World& world, std::shared_ptr<DeviceState> device, QueuePair* handle,
                   const QueuePairOptions& options, SimCompletionQueue* send_queue, SimCompletionQueue* receive_queue,
                   const SimSharedReceiveQueue* shared)
    : world_(world),
      device_(std::move(device)),
      handle_(handle),
      number_(++world.last_number),
      reports_(*this, world, send_queue, receive_queue),
      requester_(*this, world, options),
      responder_(*this, world, options, shared),
      peer_watch_(*this, world) {
  world_.endpoints[number_] = this;
}

absl::Status Endpoint::NotReady() const {
  return absl::FailedPreconditionError(absl::StrCat("the queue pair is not ready ", error_.message()));
}

void Endpoint::Fail(CompletionStatus first, absl::Status error) {
  if (state_ == QueuePairState::kError) return;
  state_ = QueuePairState::kError;
  error_ = std::move(error);
  world_.offers.erase(offer_);
  requester_.Flush(first);
  responder_.Flush();
  if (const auto peer = peer_.lock()) peer->PeerChanged();
}

void Endpoint::Close() {
  const bool was_open = state_ != QueuePairState::kError;
  Fail(CompletionStatus::kFlushed, absl::CancelledError("closed by this end"));
  if (!was_open || !world_.config.announce_close || !device_->alive) return;
  world_.events.After(world_.network.Flight(world_.random), [self = shared_from_this()] {
    const auto peer = self->peer_.lock();
    if (peer == nullptr) return;
    peer->peer_closed_ = true;
    peer->HearOfClose();
  });
}

void Endpoint::Detach() {
  Close();
  handle_ = nullptr;
  responder_.Detach();
  reports_.Detach();
  world_.endpoints.erase(number_);
}

void Endpoint::HearOfClose() {
  if (!peer_closed_ || !PathOpen()) return;
  Fail(CompletionStatus::kRetryExceeded, absl::UnavailableError("the peer closed the connection"));
}

bool Endpoint::PathOpen() const { return !world_.network.Blocked(device_->name, peer_device_); }

bool Endpoint::PeerAnswers() const {
  const auto peer = peer_.lock();
  return peer != nullptr && peer->ready() && PathOpen();
}

void Endpoint::PeerChanged() {
  peer_watch_.PeerChanged();
  if (PathOpen()) requester_.SendAgain();
  peer_watch_.Start();
  HearOfClose();
}

void Endpoint::Reaped(uint64_t sequence) {
  if (sequence == 0) {
    responder_.Reaped();
  } else {
    requester_.Reaped(sequence);
  }
}

}  // namespace skein::fabric::sim
