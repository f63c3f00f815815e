#include "core/fabric/sim/responder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"
#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {

Responder::Responder(Endpoint& endpoint, World& world, const QueuePairOptions& options,
                     const SimSharedReceiveQueue* shared)
    : endpoint_(endpoint),
      world_(world),
      flushes_(options.flushes),
      shares_receives_(shared != nullptr),
      receives_(shares_receives_ ? shared->receives() : std::make_shared<Receives>(options.max_receive_requests)) {
  receives_->Attach(this);
}

absl::Status Responder::PostReceive(absl::Span<const ReceiveRequest> batch) {
  if (shares_receives_) return NoOwnReceives();
  if (!endpoint_.ready()) return endpoint_.NotReady();
  return receives_->Post(world_.regions, endpoint_.device().number, batch);
}

void Responder::ReceivesPosted() {
  if (inbox_.empty()) return;
  // A request that waits for a receive is sent again by its NIC a while later; the first to come takes it.
  world_.events.After(world_.network.Flight(world_.random), [self = endpoint_.Shared(this)] { self->Serve(); });
}

void Responder::Arrived(Packet packet) {
  const absl::Time now = world_.events.now();
  const absl::Time received = endpoint_.device().nic.Receive(now, endpoint_.number(), packet.payload.size());
  arriving_.push_back(std::move(packet));
  if (received <= now) return Receive();
  world_.events.At(received, [self = endpoint_.Shared(this)] { self->Receive(); });
}

void Responder::Flush() {
  if (!shares_receives_) {
    while (const auto receive = receives_->Take()) {
      endpoint_.reports().ReceiveEnded(*receive, CompletionStatus::kFlushed, 0);
    }
  }
  arriving_.clear();
  inbox_.clear();
  landing_.reset();
}

void Responder::Receive() {
  if (!endpoint_.ready() || arriving_.empty()) return;
  inbox_.push_back(std::move(arriving_.front()));
  arriving_.pop_front();
  Serve();
}

void Responder::Serve() {
  while (endpoint_.ready() && !inbox_.empty() && !(landing_.has_value() && landing_->waits)) {
    if (!ServeFirst()) return;
  }
}

bool Responder::ServeFirst() {
  const Packet& packet = inbox_.front();
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

bool Responder::ServeSend(const Packet& packet) {
  const std::optional<ReceiveRequest> receive = receives_->Take();
  if (!receive.has_value()) return false;
  if (packet.payload.size() > receive->buffer.size) {
    endpoint_.reports().ReceiveEnded(*receive, CompletionStatus::kLocalLengthError, 0);
    return Refuse(CompletionStatus::kRemoteOperationError,
                  absl::InvalidArgumentError(absl::StrCat("a SEND of ", packet.payload.size(),
                                                          " bytes met a receive of ", receive->buffer.size)));
  }
  if (!world_.regions.Check(endpoint_.device().number, receive->buffer, /*may_be_inline=*/false).ok()) {
    endpoint_.reports().ReceiveEnded(*receive, CompletionStatus::kFatal, 0);
    return Refuse(CompletionStatus::kRemoteOperationError,
                  absl::InternalError("a receive's region was destroyed before it was used"));
  }
  StoreWords(receive->buffer.data, packet.payload.data(), packet.payload.size());
  endpoint_.reports().ReceiveEnded(*receive, CompletionStatus::kSuccess, packet.payload.size());
  return Done();
}

bool Responder::ServeWrite(const Packet& packet) {
  if (!Land(packet)) return false;
  if (packet.request.opcode == Opcode::kWriteWithImmediate) {
    const std::optional<ReceiveRequest> receive = receives_->Take();
    if (!receive.has_value()) return false;
    endpoint_.reports().ImmediateCame(*receive, packet.request.immediate, packet.payload.size());
  }
  return Done();
}

bool Responder::Land(const Packet& packet) {
  if (!landing_.has_value()) {
    // Refused before the first byte, not after the first piece.
    std::byte* to = Reach(packet, packet.payload.size(), kRemoteWrite);
    if (to == nullptr) return false;
    landing_.emplace().plan = PlanLanding(to, packet.payload.size(), world_.random);
  }
  while (landing_->landed < landing_->plan.size()) {
    // Looked up for each piece: the region may have gone between them.
    std::byte* to = Reach(packet, packet.payload.size(), kRemoteWrite);
    if (to == nullptr) return false;
    const Piece piece = landing_->plan[landing_->landed++];
    StoreWords(to + piece.offset, packet.payload.data() + piece.offset, piece.size);
    if (landing_->landed < landing_->plan.size() && world_.config.write_spread > absl::ZeroDuration()) {
      landing_->waits = true;
      world_.events.After(world_.random.Below(world_.config.write_spread), [self = endpoint_.Shared(this)] {
        if (self->landing_.has_value()) self->landing_->waits = false;
        self->Serve();
      });
      return false;
    }
  }
  return true;
}

bool Responder::ServeRead(const Packet& packet) {
  const std::byte* from = Reach(packet, packet.read_bytes, kRemoteRead);
  if (from == nullptr) return false;
  std::vector<std::byte> payload(packet.read_bytes);
  LoadWords(payload.data(), from, payload.size());
  const auto watched = world_.on_read_served.find(endpoint_.device().name);
  if (watched != world_.on_read_served.end()) {
    world_.events.At(
        world_.events.now(), [action = watched->second] { (*action)(); }, /*external=*/true);
  }
  return Done(std::move(payload));
}

bool Responder::ServeAtomic(const Packet& packet) {
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

bool Responder::ServeFlush(const Packet& packet) {
  const bool persistent = packet.request.placement == Placement::kPersistent;
  if (!flushes_) {
    return Refuse(CompletionStatus::kRemoteAccessError,
                  absl::PermissionDeniedError("the peer's FLUSH came to a queue pair that was not made for FLUSHes"));
  }
  const std::byte* from = Reach(packet, packet.request.operand, persistent ? kRemoteFlushPersistent : kRemoteFlush);
  if (from == nullptr) return false;
  const auto watched = world_.on_flush_served.find(endpoint_.device().name);
  if (persistent && watched != world_.on_flush_served.end()) {
    const absl::Span<const std::byte> flushed(from, packet.request.operand);
    world_.events.At(
        world_.events.now(), [action = watched->second, flushed] { (*action)(flushed); }, /*external=*/true);
  }
  return Done();
}

std::byte* Responder::Reach(const Packet& packet, size_t size, Access access) {
  std::byte* memory = world_.regions.Reach(endpoint_.device().number, packet.request.remote, size, access);
  if (memory == nullptr) {
    Refuse(CompletionStatus::kRemoteAccessError,
           absl::PermissionDeniedError(absl::StrCat("the peer's ", OpcodeName(packet.request.opcode), " of ", size,
                                                    " bytes asked for memory that it was not given")));
  }
  return memory;
}

bool Responder::Done(std::vector<std::byte> payload) {
  Send({CompletionStatus::kSuccess, std::move(payload)});
  inbox_.pop_front();
  landing_.reset();
  return true;
}

bool Responder::Refuse(CompletionStatus status, absl::Status error) {
  // As a NIC: a request that may not be executed is answered, and breaks the connection at both ends.
  Send({status, {}});
  endpoint_.Fail(CompletionStatus::kFlushed, std::move(error));
  return false;
}

void Responder::Send(Answer answer) {
  const auto peer = endpoint_.peer();
  if (peer == nullptr) return;
  const Nic::Slot slot = endpoint_.device().nic.Send(world_.events.now(), endpoint_.number(), answer.payload.size());
  peer->requester().Answered(std::move(answer), slot.end + world_.network.Flight(world_.random));
}

}  // namespace skein::fabric::sim
