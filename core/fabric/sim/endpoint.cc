#include "core/fabric/sim/endpoint.h"

#include <utility>

namespace skein::fabric::sim {

Endpoint::Endpoint(World& world, std::shared_ptr<DeviceState> device, QueuePair* handle,
                   const QueuePairOptions& options, SimCompletionQueue* send_queue, SimCompletionQueue* receive_queue,
                   const SimSharedReceiveQueue* shared)
    : world_(world),
      device_(std::move(device)),
      handle_(handle),
      max_send_(options.max_send_requests),
      number_(++world.last_number),
      shares_receives_(shared != nullptr),
      flushes_(options.flushes),
      receives_(shares_receives_ ? shared->receives() : std::make_shared<Receives>(options.max_receive_requests)),
      reports_(*this, world, send_queue, receive_queue),
      peer_watch_(*this, world) {
  world_.endpoints[number_] = this;
  receives_->Attach(this);
}

void Endpoint::Fail(CompletionStatus first, absl::Status error) {
  if (state_ == QueuePairState::kError) return;
  state_ = QueuePairState::kError;
  error_ = std::move(error);
  world_.offers.erase(offer_);

  CompletionStatus status = first;
  for (const Outstanding& request : unacked_) {
    reports_.SendEnded(request.request, request.sequence, status, 0);
    status = CompletionStatus::kFlushed;
  }
  unacked_.clear();
  if (!shares_receives_) {
    while (const auto receive = receives_->Take()) reports_.ReceiveEnded(*receive, CompletionStatus::kFlushed, 0);
  }
  arriving_.clear();
  inbox_.clear();
  // What was put off needed a retransmission, which will not come now; and the peer would take nothing after a gap.
  if (stalled_requests_ > 0) wire_.clear();
  stalled_requests_ = 0;

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
  receives_->Detach(this);
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
  return peer != nullptr && peer->state_ == QueuePairState::kReady && PathOpen();
}

void Endpoint::PeerChanged() {
  peer_watch_.PeerChanged();
  if (PathOpen()) ReleaseStalled();
  peer_watch_.Start();
  HearOfClose();
}

void Endpoint::Reaped(uint64_t sequence) {
  if (sequence == 0) {
    receives_->Reaped();
  } else {
    last_reaped_ = sequence;
  }
}

}  // namespace skein::fabric::sim
