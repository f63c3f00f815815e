// The half of an endpoint that serves the peer's requests, in their order. A Serve* function returns whether the first
// request is done and gone; false also when it waits (for a receive, for its next piece) or broke the connection.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"
#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {

absl::Status Endpoint::PostReceive(absl::Span<const ReceiveRequest> batch) {
  if (shares_receives_) return NoOwnReceives();
  if (state_ != QueuePairState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat("the queue pair is not ready ", error_.message()));
  }
  return receives_->Post(world_, *device_, batch);
}

void Endpoint::Receive() {
  if (state_ != QueuePairState::kReady || arriving_.empty()) return;
  inbox_.push_back(std::move(arriving_.front()));
  arriving_.pop_front();
  Serve();
}

void Endpoint::Serve() {
  while (state_ == QueuePairState::kReady && !landing_ && !inbox_.empty()) {
    if (!ServeFirst()) return;
  }
}

bool Endpoint::ServeFirst() {
  Packet& packet = inbox_.front();
  switch (packet.request.opcode) {
    case Opcode::kSend:
      return ServeSend(packet);
    case Opcode::kWrite:
    case Opcode::kWriteWithImmediate:
      return ServeWrite(packet);
    case Opcode::kRead:
      return ServeRead(packet);
    case Opcode::kFetchAdd:
    case Opcode::kCompareSwap:
      return ServeAtomic(packet);
    case Opcode::kFlush:
      return ServeFlush(packet);
    case Opcode::kReceive:
    case Opcode::kReceiveWithImmediate:
      break;
  }
  return Refuse(CompletionStatus::kFatal, absl::InternalError("an opcode that cannot be posted"));
}

bool Endpoint::ServeSend(Packet& packet) {
  const std::optional<ReceiveRequest> receive = receives_->Take();
  if (!receive.has_value()) return false;
  if (packet.payload.size() > receive->buffer.size) {
    reports_.ReceiveEnded(*receive, CompletionStatus::kLocalLengthError, 0);
    return Refuse(CompletionStatus::kRemoteOperationError,
                  absl::InvalidArgumentError(absl::StrCat("a SEND of ", packet.payload.size(),
                                                          " bytes met a receive of ", receive->buffer.size)));
  }
  if (!world_.regions.Check(device_->number, receive->buffer, /*may_be_inline=*/false).ok()) {
    reports_.ReceiveEnded(*receive, CompletionStatus::kFatal, 0);
    return Refuse(CompletionStatus::kRemoteOperationError,
                  absl::InternalError("a receive's region was destroyed before it was used"));
  }
  StoreWords(receive->buffer.data, packet.payload.data(), packet.payload.size());
  reports_.ReceiveEnded(*receive, CompletionStatus::kSuccess, packet.payload.size());
  return Done();
}

bool Endpoint::ServeWrite(Packet& packet) {
  if (!Land(packet)) return false;
  if (packet.request.opcode == Opcode::kWriteWithImmediate) {
    const std::optional<ReceiveRequest> receive = receives_->Take();
    if (!receive.has_value()) return false;
    reports_.ImmediateCame(*receive, packet.request.immediate, packet.payload.size());
  }
  return Done();
}

bool Endpoint::Land(Packet& packet) {
  if (packet.landed == 0 && !packet.planned) {
    // Refused before the first byte, not after the first piece.
    std::byte* to = Reach(packet, packet.payload.size(), kRemoteWrite);
    if (to == nullptr) return false;
    packet.plan = PlanLanding(to, packet.payload.size(), world_.random);
    packet.planned = true;
  }
  while (packet.landed < packet.plan.size()) {
    // Looked up for each piece: the region may have gone between them.
    std::byte* to = Reach(packet, packet.payload.size(), kRemoteWrite);
    if (to == nullptr) return false;
    const Piece piece = packet.plan[packet.landed++];
    StoreWords(to + piece.offset, packet.payload.data() + piece.offset, piece.size);
    if (packet.landed < packet.plan.size() && world_.config.write_spread > absl::ZeroDuration()) {
      landing_ = true;
      world_.events.After(world_.random.Below(world_.config.write_spread), [self = shared_from_this()] {
        self->landing_ = false;
        self->Serve();
      });
      return false;
    }
  }
  return true;
}

bool Endpoint::ServeRead(Packet& packet) {
  const std::byte* from = Reach(packet, packet.read_bytes, kRemoteRead);
  if (from == nullptr) return false;
  std::vector<std::byte> payload(packet.read_bytes);
  LoadWords(payload.data(), from, payload.size());
  if (const auto watched = world_.on_read_served.find(device_->name); watched != world_.on_read_served.end()) {
    world_.events.At(
        world_.events.now(), [action = watched->second] { (*action)(); }, /*external=*/true);
  }
  return Done(std::move(payload));
}

bool Endpoint::ServeAtomic(Packet& packet) {
  std::byte* word = Reach(packet, sizeof(uint64_t), kRemoteAtomic);
  if (word == nullptr) return false;
  if (reinterpret_cast<uintptr_t>(word) % sizeof(uint64_t) != 0) {
    return Refuse(CompletionStatus::kRemoteAccessError, absl::PermissionDeniedError("a misaligned atomic"));
  }
  const SendRequest& request = packet.request;
  const uint64_t old = request.opcode == Opcode::kFetchAdd ? FetchAddWord(word, request.operand)
                                                           : CompareSwapWord(word, request.operand, request.swap);
  std::vector<std::byte> payload(sizeof(old));
  LoadWords(payload.data(), reinterpret_cast<const std::byte*>(&old), sizeof(old));
  return Done(std::move(payload));
}

bool Endpoint::ServeFlush(Packet& packet) {
  const bool persistent = packet.request.placement == Placement::kPersistent;
  if (!flushes_) {
    return Refuse(CompletionStatus::kRemoteAccessError,
                  absl::PermissionDeniedError("the peer's FLUSH came to a queue pair that was not made for FLUSHes"));
  }
  const std::byte* from = Reach(packet, packet.request.operand, persistent ? kRemoteFlushPersistent : kRemoteFlush);
  if (from == nullptr) return false;
  const auto watched = world_.on_flush_served.find(device_->name);
  if (persistent && watched != world_.on_flush_served.end()) {
    const absl::Span<const std::byte> flushed(from, packet.request.operand);
    world_.events.At(
        world_.events.now(), [action = watched->second, flushed] { (*action)(flushed); }, /*external=*/true);
  }
  return Done();
}

std::byte* Endpoint::Reach(const Packet& packet, size_t size, Access access) {
  std::byte* memory = world_.regions.Reach(device_->number, packet.request.remote, size, access);
  if (memory == nullptr) {
    Refuse(CompletionStatus::kRemoteAccessError,
           absl::PermissionDeniedError(absl::StrCat("the peer's ", OpcodeName(packet.request.opcode), " of ", size,
                                                    " bytes asked for memory that it was not given")));
  }
  return memory;
}

bool Endpoint::Done(std::vector<std::byte> payload) {
  Answer({inbox_.front().sequence, CompletionStatus::kSuccess, std::move(payload)});
  inbox_.pop_front();
  return true;
}

bool Endpoint::Refuse(CompletionStatus status, absl::Status error) {
  // As a NIC: a request that may not be executed is answered, and breaks the connection at both ends.
  Answer({inbox_.front().sequence, status, {}});
  Fail(CompletionStatus::kFlushed, std::move(error));
  return false;
}

void Endpoint::Answer(Result result) {
  const auto peer = peer_.lock();
  if (peer == nullptr) return;
  const Nic::Slot slot = device_->nic.Send(world_.events.now(), number_, result.payload.size());
  peer->answers_.push_back(std::move(result));
  peer->last_answer_ = std::max(peer->last_answer_, slot.end + world_.network.Flight(world_.random));
  world_.events.At(peer->last_answer_, [peer] { peer->DeliverAnswer(); });
}

}  // namespace skein::fabric::sim
