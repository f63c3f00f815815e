#include "core/fabric/sim/endpoint.h"

#include <algorithm>
#include <utility>

namespace skein::fabric::sim {

Endpoint::Endpoint(World& world, std::shared_ptr<DeviceState> device, QueuePair* handle,
                   const QueuePairOptions& options, SimCompletionQueue* send_queue, SimCompletionQueue* receive_queue,
                   const SimSharedReceiveQueue* shared)
    : world_(world),
      device_(std::move(device)),
      handle_(handle),
      send_queue_(send_queue),
      receive_queue_(receive_queue),
      max_send_(options.max_send_requests),
      number_(++world.last_number),
      shares_receives_(shared != nullptr),
      flushes_(options.flushes),
      receives_(shares_receives_ ? shared->receives() : std::make_shared<Receives>(options.max_receive_requests)) {
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
    ReportSend(request.request, request.sequence, status, 0);
    status = CompletionStatus::kFlushed;
  }
  unacked_.clear();
  if (!shares_receives_) {
    while (const auto receive = receives_->Take()) ReportReceive(*receive, CompletionStatus::kFlushed, 0);
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
  // The queues may be gone when the time of these has come; and of its own receives nobody wants to hear.
  for (const Late& late : late_) {
    if (shares_receives_ && late.sequence == 0) Push(late);
  }
  late_.clear();
  send_queue_->Forget(this);
  receive_queue_->Forget(this);
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
  if (PeerAnswers()) {
    unreachable_since_ = asked_at_ = absl::InfiniteFuture();
  } else {
    unreachable_since_ = std::min(unreachable_since_, world_.events.now());
  }
  if (PathOpen()) ReleaseStalled();
  WatchPeer();
  HearOfClose();
}

void Endpoint::AskPeer() {
  if (state_ != QueuePairState::kReady || PeerAnswers()) return;
  asked_at_ = std::min(asked_at_, world_.events.now());
  WatchPeer();
}

// For an answer; for ever, if nothing is asked.
absl::Time Endpoint::WaitsSince() const {
  return unacked_.empty() ? asked_at_ : std::min(asked_at_, unacked_.front().posted_at);
}

void Endpoint::WatchPeer() {
  if (watching_ || state_ != QueuePairState::kReady || WaitsSince() == absl::InfiniteFuture() || PeerAnswers()) return;
  watching_ = true;
  const absl::Time since = std::max(unreachable_since_, WaitsSince());
  world_.events.At(since + world_.config.retry_time, [self = shared_from_this()] { self->CheckPeer(); });
}

void Endpoint::CheckPeer() {
  watching_ = false;
  if (state_ != QueuePairState::kReady || WaitsSince() == absl::InfiniteFuture() || PeerAnswers()) return;
  // The peer may have been back meanwhile, or what was outstanding then been answered: the clock began anew.
  const absl::Time since = std::max(unreachable_since_, WaitsSince());
  if (world_.events.now() < since + world_.config.retry_time) return WatchPeer();
  Fail(CompletionStatus::kRetryExceeded, absl::UnavailableError("the peer has stopped answering"));
}

void Endpoint::Reaped(uint64_t sequence) {
  if (sequence == 0) {
    receives_->Reaped();
  } else {
    last_reaped_ = sequence;
  }
}

void Endpoint::Report(const Late& report) {
  if (handle_ == nullptr) return;
  if (world_.config.completion_cost == absl::ZeroDuration()) return Push(report);
  late_.push_back(report);
  const absl::Time at = device_->nic.Complete(world_.events.now());
  world_.events.At(at, [self = shared_from_this()] { self->PushNext(); });
}

void Endpoint::PushNext() {
  if (late_.empty()) return;
  Push(late_.front());
  late_.pop_front();
}

void Endpoint::Push(const Late& report) {
  SimCompletionQueue::Entry entry{report.completion, shared_from_this(), report.sequence};
  entry.completion.queue_pair = handle_;
  report.queue->Push(std::move(entry));
}

void Endpoint::ReportSend(const SendRequest& request, uint64_t sequence, CompletionStatus status, size_t bytes) {
  if (status == CompletionStatus::kSuccess && !request.signaled) return;
  Completion completion;
  completion.id = request.id;
  completion.status = status;
  completion.opcode = request.opcode;
  completion.bytes = bytes;
  Report({send_queue_, completion, sequence});
}

void Endpoint::ReportReceive(const ReceiveRequest& request, CompletionStatus status, size_t bytes) {
  Completion completion;
  completion.id = request.id;
  completion.status = status;
  completion.opcode = Opcode::kReceive;
  completion.bytes = bytes;
  Report({receive_queue_, completion, /*sequence=*/0});
}

}  // namespace skein::fabric::sim
