#include "core/fabric/sim/requester.h"

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

absl::Status Requester::Check(const SendRequest& request) const {
  if (request.opcode == Opcode::kFlush) {
    return CheckFlush(request, {.flush = world_.config.flush, .flush_persistent = world_.config.flush}, flushes_);
  }
  absl::Status status = CheckRequest(request, world_.config.max_message_bytes);
  if (!status.ok()) return status;
  const bool may_be_inline =
      CarriesPayload(request.opcode) && TotalBytes(request.local) <= world_.config.max_inline_bytes;
  for (const Segment& segment : request.local) {
    absl::Status local = world_.regions.Check(endpoint_.device().number, segment, may_be_inline);
    if (!local.ok()) return local;
  }
  return absl::OkStatus();
}

absl::Status Requester::Post(absl::Span<const SendRequest> batch) {
  if (!endpoint_.ready()) return endpoint_.NotReady();
  for (const SendRequest& request : batch) {
    if (absl::Status checked = Check(request); !checked.ok()) return checked;
  }
  if (last_posted_ - last_reaped_ + batch.size() > max_send_) {
    return absl::ResourceExhaustedError(absl::StrCat("the send queue of ", max_send_, " requests is full"));
  }
  if (batch.empty()) return absl::OkStatus();
  endpoint_.device().nic.Doorbell(world_.events.now());
  for (const SendRequest& request : batch) Enqueue(request);
  endpoint_.peer_watch().Start();
  return absl::OkStatus();
}

void Requester::Enqueue(const SendRequest& request) {
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
  const Nic::Slot slot = endpoint_.device().nic.Send(next.posted_at, endpoint_.number(), wire_bytes);
  world_.events.At(slot.start, [self = endpoint_.Shared(this), sequence = next.sequence, end = slot.end] {
    self->Transmit(sequence, end);
  });
}

bool Requester::Revoked(const Outstanding& request) const {
  if (request.staged) return false;
  return absl::c_any_of(request.local, [&](const Segment& segment) {
    return segment.size > 0 && !world_.regions.Covers(endpoint_.device().number, segment);
  });
}

void Requester::Transmit(uint64_t sequence, absl::Time end) {
  if (!endpoint_.ready()) return;
  // Sends start in the order posted and answers come in that order, so this one is still there.
  Outstanding& request = unacked_[sequence - unacked_.front().sequence];
  Packet packet;
  packet.request = request.request;
  if (CarriesPayload(request.request.opcode)) {
    if (Revoked(request)) {
      return endpoint_.Fail(CompletionStatus::kFatal,
                            absl::InternalError("a source's region was destroyed before it was sent"));
    }
    packet.payload = request.staged ? std::move(request.payload) : Gather(request.local);
  } else {
    packet.read_bytes = TotalBytes(request.local);
  }
  const absl::Time earliest = endpoint_.device().nic.OrderedArrival(end + world_.network.Flight(world_.random));
  const absl::Time arrival = requests_.Put(std::move(packet), earliest);
  world_.events.At(arrival, [self = endpoint_.Shared(this)] { self->DeliverRequest(); });
}

void Requester::DeliverRequest() {
  if (requests_.empty()) return;
  const auto peer = endpoint_.peer();
  const bool peer_waits = peer != nullptr && peer->state() == QueuePairState::kReset;
  if (!endpoint_.PathOpen() || peer_waits) return requests_.PutOff();
  Packet packet = requests_.TakeFirst();
  // An end in error does not answer; the retry time tells.
  if (peer == nullptr || !peer->ready()) return;
  peer->responder().Arrived(std::move(packet));
}

void Requester::Answered(Answer answer, absl::Time earliest) {
  const absl::Time arrival = answers_.Put(std::move(answer), earliest);
  world_.events.At(arrival, [self = endpoint_.Shared(this)] { self->DeliverAnswer(); });
}

void Requester::DeliverAnswer() {
  if (answers_.empty()) return;
  if (!endpoint_.PathOpen()) return answers_.PutOff();
  const Answer answer = answers_.TakeFirst();
  if (!endpoint_.ready()) return;
  // It takes the NIC's time, but is not itself late.
  endpoint_.device().nic.Receive(world_.events.now(), endpoint_.number(), answer.payload.size());
  if (answer.status != CompletionStatus::kSuccess) {
    return endpoint_.Fail(answer.status, ErrorOf(answer.status, unacked_.front().request.opcode));
  }
  const Outstanding done = std::move(unacked_.front());
  unacked_.pop_front();
  Finish(done, answer);
}

void Requester::Finish(const Outstanding& done, const Answer& answer) {
  if (!CarriesPayload(done.request.opcode)) {
    if (Revoked(done)) {
      endpoint_.reports().SendEnded(done.request, done.sequence, CompletionStatus::kFatal, 0);
      return endpoint_.Fail(CompletionStatus::kFlushed,
                            absl::InternalError("a destination's region was destroyed before its bytes came"));
    }
    Scatter(answer.payload, done.local);
  }
  endpoint_.reports().SendEnded(done.request, done.sequence, CompletionStatus::kSuccess, answer.payload.size());
}

void Requester::SendAgain() {
  const absl::Duration flight = world_.network.Flight(world_.random);
  if (const auto peer = endpoint_.peer(); peer == nullptr || peer->state() != QueuePairState::kReset) {
    for (size_t count = requests_.TakePutOff(); count > 0; --count) {
      world_.events.After(flight, [self = endpoint_.Shared(this)] { self->DeliverRequest(); });
    }
  }
  for (size_t count = answers_.TakePutOff(); count > 0; --count) {
    world_.events.After(flight, [self = endpoint_.Shared(this)] { self->DeliverAnswer(); });
  }
}

void Requester::Flush(CompletionStatus first) {
  CompletionStatus status = first;
  for (const Outstanding& request : unacked_) {
    endpoint_.reports().SendEnded(request.request, request.sequence, status, 0);
    status = CompletionStatus::kFlushed;
  }
  unacked_.clear();
  requests_.DropFromGap();
}

}  // namespace skein::fabric::sim
