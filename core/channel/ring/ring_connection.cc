#include "core/channel/ring/ring_connection.h"

#include <algorithm>
#include <utility>

#include "core/base/random_value.h"
#include "core/wire/immediate.h"

namespace skein::channel {

RingConnection::RingConnection(RingGroup& group, std::unique_ptr<fabric::QueuePair> queue_pair,
                               const ChannelOptions& options)
    : group_(group), options_(options), queue_pair_(std::move(queue_pair)) {
  group_.SetChannel(this);
}

RingConnection::~RingConnection() {
  group_.SetChannel(nullptr);
  // First: nothing may arrive in memory that is gone, nor be read out of it.
  queue_pair_.reset();
}

absl::Status RingConnection::AllocateRing() {
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> ring =
      group_.device()->Allocate(options_.ring_bytes + wire::kControlBytes, fabric::kRemoteWrite);
  if (!ring.ok()) return ring.status();
  ring_ = *std::move(ring);
  ring_secret_ = RandomValue<uint64_t>();
  if (absl::Status status = group_.PostReceives(); !status.ok()) return status;
  const absl::Span<std::byte> bytes = ring_->bytes();
  peer_control_ =
      std::make_unique<PeerControl>(reinterpret_cast<uint64_t*>(bytes.data() + options_.ring_bytes), ring_secret_);
  reader_ = std::make_unique<RingReader>(bytes.first(options_.ring_bytes), ring_secret_);
  return absl::OkStatus();
}

wire::RingDescriptor RingConnection::OwnRing() const {
  return {ring_->remote().address, options_.ring_bytes, ring_secret_, ring_->remote().rkey};
}

absl::Status RingConnection::Complete(const Answer& answer) {
  if (absl::Status status = queue_pair_->Complete(answer.connection); !status.ok()) return status;
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  return Meet(answer.ring);
}

absl::StatusOr<Channel::Answer> RingConnection::Accept(absl::string_view offer) {
  absl::StatusOr<std::string> answer = queue_pair_->Accept(offer);
  if (!answer.ok()) return answer.status();
  // After the peer has been judged, and before it hears "yes": then everything is there.
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  // Most peers' rings are no larger than this end's.
  const uint64_t staged = std::min<uint64_t>(options_.ring_bytes, options_.max_staging_bytes);
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> staging =
      group_.device()->Allocate(StagingBytes(staged), fabric::kLocalOnly);
  if (!staging.ok()) return staging.status();
  staging_ = *std::move(staging);
  return Answer{*std::move(answer), OwnRing()};
}

absl::Status RingConnection::OnGreeting(absl::string_view greeting) {
  const absl::StatusOr<wire::RingDescriptor> ring = wire::DecodeRingDescriptor(greeting);
  return ring.ok() ? Meet(*ring) : ring.status();
}

absl::Status RingConnection::Meet(const wire::RingDescriptor& peer_ring) {
  absl::StatusOr<std::unique_ptr<RingWriter>> writer =
      RingWriter::Create(*group_.device(), *queue_pair_, peer_ring, options_.max_staging_bytes, std::move(staging_));
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  met_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

void RingConnection::ProtocolError(absl::string_view what) {
  if (connected()) {
    MutexLock lock(&error_mu_);
    protocol_error_ = std::string(what);
  }
  Disconnect();
}

bool RingConnection::peer_broke_protocol() const {
  MutexLock lock(&error_mu_);
  return !protocol_error_.empty();
}

absl::Status RingConnection::why_ended() const {
  {
    MutexLock lock(&error_mu_);
    if (!protocol_error_.empty()) return absl::DataLossError(protocol_error_);
  }
  const absl::Status error = queue_pair_->error();
  return error.ok() ? absl::UnavailableError("it was closed") : error;
}

bool RingConnection::Ended() {
  // With shared receives no completion tells of a queue pair that has failed and was sending nothing.
  if (queue_pair_->state() == fabric::QueuePairState::kError) Disconnect();
  return !connected();
}

bool RingConnection::OnCompletion(const fabric::Completion& completion) {
  const bool of_memory = completion.id & MemoryOperations::kIdBit;
  const bool of_message = !of_memory && (completion.opcode == fabric::Opcode::kWrite ||
                                         completion.opcode == fabric::Opcode::kWriteWithImmediate);
  if (of_memory && options_.operations != nullptr) options_.operations->OnCompletion(completion);
  if (completion.status != fabric::CompletionStatus::kSuccess) {
    Disconnect();
  } else if (of_message) {
    reached_.store(completion.id, std::memory_order_relaxed);
  } else if (completion.opcode == fabric::Opcode::kReceiveWithImmediate) {
    OnImmediate(completion.immediate);
  } else if (completion.opcode == fabric::Opcode::kReceive) {
    ProtocolError("a SEND");
  }
  return of_message || of_memory;
}

void RingConnection::OnImmediate(uint32_t immediate) {
  const absl::StatusOr<bool> renewal = wire::IsRenewal(immediate);
  if (!renewal.ok()) return ProtocolError(renewal.status().message());
  if (!*renewal) return;
  if (renewal_.exchange(true, std::memory_order_release)) ProtocolError("credits asked for twice");
}

absl::Status RingConnection::WithSpace(absl::FunctionRef<absl::Status()> post) {
  absl::Status status = post();
  if (!absl::IsResourceExhausted(status)) return status;
  group_.Look();  // completions make space in the send queue
  return connected() ? post() : status;
}

void RingConnection::EndIfBroken(const absl::Status& status) {
  if (status.ok() || absl::IsResourceExhausted(status)) return;
  queue_pair_->Close();
  group_.Wake();
}

absl::Status RingConnection::PostOperations(absl::Span<const fabric::SendRequest> operations) {
  return WithSpace([&] { return queue_pair_->PostSend(operations); });
}

}  // namespace skein::channel
