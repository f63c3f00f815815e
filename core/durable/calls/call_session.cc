#include "core/durable/calls/call_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/durable/calls/call_service.h"
#include "core/durable/calls/outcome.h"

namespace skein::durable {
namespace {

// After so many vain tries the ledger would never have space for the call.
constexpr int kMostVainTries = 3;

// Why a call that was executed has no outcome to show.
absl::Status WhyNone(const absl::Status& error) {
  if (absl::IsNotFound(error)) return ReplyOf(OutcomeNotKept()).status();
  return {error.code(), absl::StrCat("executed; but its reply cannot be read: ", error.message())};
}

}  // namespace

absl::Status CallSession::OnMessage(absl::string_view message) {
  const absl::StatusOr<ClientMessage> decoded = DecodeClientMessage(message);
  if (!decoded.ok()) return decoded.status();
  if ((decoded->kind == ClientMessageKind::kHello) == greeted_)
    return absl::InvalidArgumentError("durable calls: a message out of turn");
  if (!greeted_) return OnHello(*decoded);
  return decoded->kind == ClientMessageKind::kCall ? OnCall(*decoded) : OnAsk(decoded->sequence);
}

absl::Status CallSession::OnHello(const ClientMessage& message) {
  greeted_ = true;
  client_ = message.client;
  absl::Status status = service_->health();
  const Persistence level = service_->persistence();
  if (status.ok() && message.wanted.has_value() && !Gives(level, *message.wanted)) {
    status = absl::FailedPreconditionError(
        absl::StrCat("the server's redo log is ", PersistenceName(level), ", not ", PersistenceName(*message.wanted),
                     ": put it on a volume that keeps what is flushed, or ask for less"));
  }
  if (!status.ok()) {
    Refuse(0, /*final=*/true, status);
    return absl::OkStatus();
  }
  // First what is known, then the place where news come to: what is new in between, the client asks for.
  Put(StandingMessage(level, service_->ledger_->Known(client_).persisted, service_->largest_request(),
                      service_->ledger_->remembers()));
  service_->Register(shared_from_this());
  // The log may have failed since. Asked behind Register: RefuseAll tells all who are registered.
  if (status = service_->health(); !status.ok()) Refuse(0, /*final=*/true, status);
  return absl::OkStatus();
}

absl::Status CallSession::OnCall(const ClientMessage& message) {
  {
    const MutexLock lock(&mu_);
    if (!send_ || (refused_ != 0 && message.sequence != refused_)) return absl::OkStatus();
    if (refused_ != 0 && waits_) return absl::InvalidArgumentError("durable calls: sent again ahead of Resume");
    refused_ = 0;
  }
  if (message.request.size() > service_->largest_request()) {
    return absl::InvalidArgumentError("durable calls: a larger request than Standing allows");
  }
  const auto self = shared_from_this();
  if (message.acknowledged != 0) service_->ledger_->Acknowledge(client_, message.acknowledged);
  const absl::Status status =
      service_->ledger_->Accept(client_, message.sequence, message.request,
                                [self, sequence = message.sequence](const absl::StatusOr<Acceptance>& acceptance) {
                                  self->OnAccepted(sequence, acceptance);
                                });
  if (status.ok()) {
    refusals_ = 0;
    service_->Persist();
    return absl::OkStatus();
  }
  OnNotAccepted(message.sequence, status);
  return absl::OkStatus();
}

// For good where there is no space for a request if nothing is unfinished and the head stays where it is, or where
// there is no place for a client: that may take as long as clients are remembered.
void CallSession::OnNotAccepted(uint64_t sequence, const absl::Status& status) {
  const Ledger::Load load = service_->load();
  if (std::exchange(log_head_, load.log_head) != load.log_head) refusals_ = 0;
  const bool stuck = load.unfinished == 0;
  const bool final = !absl::IsResourceExhausted(status) || (stuck && refusals_ >= kMostVainTries) ||
                     (sequence == 1 && !service_->ledger_->HasPlace());
  Refuse(sequence, final, final && !service_->health().ok() ? service_->health() : status);
  if (!final) return service_->WaitsForRoom(shared_from_this(), /*at_once=*/refusals_++ == 0 || stuck);
  if (!service_->health().ok()) service_->Persist();  // which tells everybody
}

absl::Status CallSession::OnAsk(uint64_t sequence) {
  const absl::StatusOr<std::string> outcome = service_->ledger_->Outcome(client_, sequence);
  if (absl::IsOutOfRange(outcome.status())) return absl::InvalidArgumentError("durable calls: asks for what is not");
  if (absl::IsFailedPrecondition(outcome.status())) return absl::OkStatus();  // it comes
  Reply(sequence, service_->load().slow_down, outcome.ok() ? ReplyOf(*outcome) : WhyNone(outcome.status()));
  return absl::OkStatus();
}

void CallSession::OnAccepted(uint64_t sequence, const absl::StatusOr<Acceptance>& acceptance) {
  if (!acceptance.ok()) return Refuse(sequence, /*final=*/true, service_->health());
  {
    const MutexLock lock(&mu_);
    persisted_ = std::max(persisted_, sequence);
  }
  if (!acceptance->duplicate) service_->WakeExecutor();
  service_->HasPersisted(shared_from_this());
  // Of one that had been executed before it came again, nobody else tells.
  if (acceptance->finished) OnAsk(sequence).IgnoreError();
}

void CallSession::TellPersisted(bool slow_down) {
  const MutexLock lock(&mu_);
  if (!send_ || told_ == persisted_) return;
  told_ = persisted_;
  send_(PersistedMessage(told_, service_->persistence(), slow_down));
}

void CallSession::Reply(uint64_t sequence, bool slow_down, const absl::StatusOr<absl::string_view>& reply) {
  Put(reply.ok() ? ReplyMessage(sequence, slow_down, *reply) : ErrorMessage(sequence, slow_down, reply.status()));
}

void CallSession::Refuse(uint64_t sequence, bool final, const absl::Status& error) {
  const MutexLock lock(&mu_);
  if (!send_) return;
  send_(RefusedMessage(sequence, final, error));
  refused_ = sequence;
  waits_ = !final;
  if (final) EndLocked();
}

void CallSession::Resume() {
  const MutexLock lock(&mu_);
  waits_ = false;
  if (send_) send_(ResumeMessage());
}

void CallSession::Put(std::string message) {
  const MutexLock lock(&mu_);
  if (send_) send_(std::move(message));
}

void CallSession::End() {
  const MutexLock lock(&mu_);
  EndLocked();
}

void CallSession::EndLocked() {
  send_ = nullptr;
  if (on_end_) std::exchange(on_end_, nullptr)();
}

void CallSession::Disconnected() {
  {
    const MutexLock lock(&mu_);
    send_ = nullptr;
    on_end_ = nullptr;
  }
  service_->Leave(*this);
}

}  // namespace skein::durable
