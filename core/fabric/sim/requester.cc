// The half of an endpoint that sends requests and takes their answers.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"
#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {
namespace {

std::vector<std::byte> Gather(absl::Span<const Segment> local) {
  std::vector<std::byte> bytes(TotalBytes(local));
  std::byte* to = bytes.data();
  for (const Segment& segment : local) {
    LoadWords(to, segment.data, segment.size);
    to += segment.size;
  }
  return bytes;
}

void Scatter(absl::Span<const std::byte> bytes, absl::Span<const Segment> local) {
  for (const Segment& segment : local) {
    const size_t size = std::min(segment.size, bytes.size());
    StoreWords(segment.data, bytes.data(), size);
    bytes.remove_prefix(size);
  }
}

absl::Status ErrorOf(CompletionStatus status, Opcode opcode) {
  const std::string what = absl::StrCat(OpcodeName(opcode), ": ", CompletionStatusName(status));
  if (status == CompletionStatus::kRemoteAccessError) return absl::PermissionDeniedError(what);
  return absl::InternalError(what);
}

}  // namespace

absl::Status Endpoint::CheckRequest(const SendRequest& request) const {
  if (request.opcode == Opcode::kFlush) {
    return CheckFlush(request, {.flush = world_.config.flush, .flush_persistent = world_.config.flush}, flushes_);
  }
  absl::Status status = fabric::CheckRequest(request, world_.config.max_message_bytes);
  if (!status.ok()) return status;
  const bool may_be_inline =
      CarriesPayload(request.opcode) && TotalBytes(request.local) <= world_.config.max_inline_bytes;
  for (const Segment& segment : request.local) {
    absl::Status local = world_.regions.Check(device_->number, segment, may_be_inline);
    if (!local.ok()) return local;
  }
  return absl::OkStatus();
}

absl::Status Endpoint::PostSend(absl::Span<const SendRequest> batch) {
  if (state_ != QueuePairState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat("the queue pair is not ready ", error_.message()));
  }
  for (const SendRequest& request : batch) {
    if (absl::Status checked = CheckRequest(request); !checked.ok()) return checked;
  }
  if (last_posted_ - last_reaped_ + batch.size() > max_send_) {
    return absl::ResourceExhaustedError(absl::StrCat("the send queue of ", max_send_, " requests is full"));
  }
  if (batch.empty()) return absl::OkStatus();
  device_->nic.Doorbell(world_.events.now());
  for (const SendRequest& request : batch) Enqueue(request);
  peer_watch_.Start();
  return absl::OkStatus();
}

void Endpoint::Enqueue(const SendRequest& request) {
  Outstanding& next = unacked_.emplace_back();
  next.sequence = ++last_posted_;
  next.request = request;
  next.request.local = {};
  next.local.assign(request.local.begin(), request.local.end());
  next.posted_at = world_.events.now();

  uint64_t wire_bytes = 0;
  if (CarriesPayload(request.opcode)) {
    wire_bytes = TotalBytes(next.local);
    // Read early only what must be: whoever gave a key can still be caught reusing its memory.
    next.staged = absl::c_any_of(next.local, [](const Segment& s) { return s.size > 0 && s.lkey == 0; });
    if (next.staged) next.payload = Gather(next.local);
  }
  const Nic::Slot slot = device_->nic.Send(next.posted_at, number_, wire_bytes);
  world_.events.At(slot.start, [self = shared_from_this(), sequence = next.sequence, end = slot.end] {
    self->Transmit(sequence, end);
  });
}

bool Endpoint::Revoked(absl::Span<const Segment> local, const Outstanding& request) {
  if (request.staged) return false;
  return absl::c_any_of(local, [&](const Segment& segment) {
    return segment.size > 0 && !world_.regions.Covers(device_->number, segment);
  });
}

void Endpoint::Transmit(uint64_t sequence, absl::Time end) {
  if (state_ != QueuePairState::kReady) return;
  // Sends start in the order posted and answers come in that order, so this one is still there.
  Outstanding& request = unacked_[sequence - unacked_.front().sequence];
  Packet packet;
  packet.sequence = sequence;
  packet.request = request.request;
  if (CarriesPayload(request.request.opcode)) {
    if (Revoked(request.local, request)) {
      return Fail(CompletionStatus::kFatal, absl::InternalError("a source's region was destroyed before it was sent"));
    }
    packet.payload = request.staged ? std::move(request.payload) : Gather(request.local);
  } else {
    packet.read_bytes = TotalBytes(request.local);
  }
  wire_.push_back(std::move(packet));

  absl::Time arrival = end + world_.network.Flight(world_.random);
  arrival = device_->nic.OrderedArrival(std::max(arrival, last_arrival_));
  last_arrival_ = arrival;
  world_.events.At(arrival, [self = shared_from_this()] { self->DeliverRequest(); });
}

void Endpoint::DeliverRequest() {
  if (wire_.empty()) return;
  const auto peer = peer_.lock();
  const bool peer_waits = peer != nullptr && peer->state_ == QueuePairState::kReset;
  if (!PathOpen() || peer_waits) {
    ++stalled_requests_;
    return;
  }
  Packet packet = std::move(wire_.front());
  wire_.pop_front();
  // An end in error does not answer; the retry time tells.
  if (peer == nullptr || peer->state_ != QueuePairState::kReady) return;
  const absl::Time now = world_.events.now();
  const absl::Time received = peer->device_->nic.Receive(now, peer->number_, packet.payload.size());
  peer->arriving_.push_back(std::move(packet));
  if (received <= now) return peer->Receive();
  world_.events.At(received, [peer] { peer->Receive(); });
}

void Endpoint::DeliverAnswer() {
  if (answers_.empty()) return;
  if (!PathOpen()) {
    ++stalled_answers_;
    return;
  }
  const Result result = std::move(answers_.front());
  answers_.pop_front();
  if (state_ != QueuePairState::kReady) return;
  // It takes the NIC's time, but is not itself late.
  device_->nic.Receive(world_.events.now(), number_, result.payload.size());
  const Outstanding& first = unacked_.front();
  if (result.status != CompletionStatus::kSuccess) {
    return Fail(result.status, ErrorOf(result.status, first.request.opcode));
  }
  const Outstanding done = std::move(unacked_.front());
  unacked_.pop_front();
  Finish(done, result);
}

void Endpoint::Finish(const Outstanding& done, const Result& result) {
  if (!CarriesPayload(done.request.opcode)) {
    if (Revoked(done.local, done)) {
      reports_.SendEnded(done.request, done.sequence, CompletionStatus::kFatal, 0);
      return Fail(CompletionStatus::kFlushed,
                  absl::InternalError("a destination's region was destroyed before its bytes came"));
    }
    Scatter(result.payload, done.local);
  }
  reports_.SendEnded(done.request, done.sequence, CompletionStatus::kSuccess, result.payload.size());
}

void Endpoint::ReleaseStalled() {
  const absl::Duration flight = world_.network.Flight(world_.random);
  if (const auto peer = peer_.lock(); peer == nullptr || peer->state_ != QueuePairState::kReset) {
    for (; stalled_requests_ > 0; --stalled_requests_) {
      world_.events.After(flight, [self = shared_from_this()] { self->DeliverRequest(); });
    }
  }
  for (; stalled_answers_ > 0; --stalled_answers_) {
    world_.events.After(flight, [self = shared_from_this()] { self->DeliverAnswer(); });
  }
}

}  // namespace skein::fabric::sim
