// What is not data: control that waits, space, flushing, upkeep, the end.
#include "core/link/send_queue.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/wire/block.h"

namespace skein::link {
namespace {

// Three for each of ten thousand streams. Each may keep its stream's memory: a peer that takes none has no more kept.
constexpr size_t kMostWaiting = 32768;

}  // namespace

absl::Status SendQueue::Open(const channel::ChannelOptions& options) {
  absl::StatusOr<std::unique_ptr<channel::Channel>> channel = group_.Open(options);
  if (!channel.ok()) return channel.status();
  channel_ = *std::move(channel);
  return absl::OkStatus();
}

absl::Status SendQueue::OnGreeting(absl::string_view greeting) {
  Visit visit(this);
  events_.Tell(Events::kWaits);  // control that could not go before
  return channel_->OnGreeting(greeting);
}

absl::Status SendQueue::error() {
  Visit visit(this);
  return error_;
}

void SendQueue::InPlace(absl::FunctionRef<void(const absl::Status& error)> what) {
  Visit visit(this);
  what(error_);
}

void SendQueue::Remove(Port& port) {
  Visit visit(this);
  if (!port.waits_for_space_) return;
  std::erase_if(space_waiters_, [&](const std::weak_ptr<Port>& waiter) {
    const std::shared_ptr<Port> waiting = waiter.lock();
    return waiting == nullptr || waiting.get() == &port;
  });
}

Traffic SendQueue::sent() {
  Visit visit(this);
  Traffic traffic;
  traffic.messages_sent = channel_->messages_written();
  traffic.bytes_sent = channel_->written();
  traffic.coalesced = coalesced_;
  return traffic;
}

void SendQueue::RingForUnseen() {
  Visit visit(this);
  if (MaySend()) channel_->RingForUnseen();
}

void SendQueue::TellPresence() {
  Visit visit(this);
  if (MaySend()) channel_->TellPresence();
}

absl::Status SendQueue::AnswerRenewal(bool granted) {
  Visit visit(this);
  return channel_->AnswerRenewal(granted);
}

void SendQueue::Activate() {
  Visit visit(this);
  if (error_.ok()) channel_->Activate();
}

// Control ---------------------------------------------------------------------------------------------------------

void SendQueue::SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload) {
  Visit visit(this);
  Queue({port, port->stream(), kind, std::move(payload)});
  FlushControl();
}

void SendQueue::ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes) {
  Visit visit(this);
  const bool queued = std::exchange(port->window_to_return_, port->window_to_return_ + bytes) > 0;
  if (!queued) Queue({port, port->stream(), wire::ItemKind::kWindow, {}});
  FlushControl();
}

void SendQueue::SendOwn(wire::ItemKind kind, std::string payload) {
  Visit visit(this);
  Queue({nullptr, 0, kind, std::move(payload)});
  FlushControl();
}

void SendQueue::QueueOwn(wire::ItemKind kind, std::string payload, uint32_t stream) {
  Visit visit(this);
  Queue({nullptr, stream, kind, std::move(payload)});
}

absl::Status SendQueue::SendPulled(absl::string_view numbers) {
  Visit visit(this);
  const auto waiting =
      absl::c_find_if(control_, [](const Control& control) { return control.kind == wire::ItemKind::kPulled; });
  if (waiting == control_.end()) {
    Queue({nullptr, 0, wire::ItemKind::kPulled, std::string(numbers)});
  } else if (waiting->payload.size() + numbers.size() <= wire::kMaxBlocks * sizeof(uint32_t)) {
    waiting->payload.append(numbers.data(), numbers.size());
  } else {
    return absl::DataLossError("more blocks announced than there are");
  }
  FlushControl();
  return absl::OkStatus();
}

void SendQueue::Queue(Control control) {
  if (!error_.ok()) return;
  if (control_.size() == kMostWaiting) {
    return FailHere(absl::UnavailableError(absl::StrCat("the peer has left ", kMostWaiting, " items unread")));
  }
  control_.push_back(std::move(control));
  events_.Tell(Events::kWaits);
}

void SendQueue::FlushControl() {
  while (MaySend() && !control_.empty()) {
    if (!SendOne(nullptr, 0).ok()) return;  // tried again when there is space: MoreSpace, or a message
  }
}

// Space ------------------------------------------------------------------------------------------------------------

void SendQueue::WaitForSpace(Port& port) {
  if (std::exchange(port.waits_for_space_, true)) return;
  space_waiters_.push_back(port.weak_from_this());
  events_.Tell(Events::kSpace | Events::kWaits);
}

std::vector<std::shared_ptr<Port>> SendQueue::TakeSpaceWaiters() {
  std::vector<std::shared_ptr<Port>> ports;
  if (!events_.IsDue(Events::kSpace)) return ports;
  Visit visit(this);
  if (!space_waiters_.empty() && MaySend() && channel_->Space(channel::Use::kData) > 0) {
    for (const std::weak_ptr<Port>& waiter : std::exchange(space_waiters_, {})) {
      if (std::shared_ptr<Port> port = waiter.lock()) {
        port->waits_for_space_ = false;
        ports.push_back(std::move(port));
      }
    }
  }
  if (space_waiters_.empty()) events_.TakeDue(Events::kSpace);
  return ports;
}

bool SendQueue::awaited() {
  Visit visit(this);
  return !space_waiters_.empty() || !control_.empty() || flush_awaited_ || channel_->tending();
}

// Flushing --------------------------------------------------------------------------------------------------------

bool SendQueue::Flush(bool tells) {
  Visit visit(this);
  const bool flushed = FlushHere();
  if (!flushed && !std::exchange(flush_awaited_, true)) events_.Tell(Events::kWaits | Events::kFlush);
  if (flushed && tells) {
    flush_awaited_ = false;
    events_.TakeDue(Events::kFlush);
  }
  return flushed;
}

bool SendQueue::FlushHere() {
  if (!MaySend()) return true;
  FlushControl();
  if (!control_.empty()) return false;
  const absl::StatusOr<bool> reached = channel_->Reached();
  if (!reached.ok()) FailHere(reached.status());
  return !reached.ok() || *reached;
}

// Upkeep ----------------------------------------------------------------------------------------------------------

absl::Status SendQueue::AfterReceiving() {
  absl::Status status;
  upkeep_left_ = true;
  place_.Ask([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(place_) {
    status = Upkeep();
    upkeep_left_ = false;
  });
  return status;
}

absl::Status SendQueue::Upkeep() {
  if (!error_.ok()) return absl::OkStatus();
  absl::Status status = channel_->Heed();
  if (status.ok()) {
    FlushControl();
    status = error_.ok() ? channel_->Tend() : absl::OkStatus();
  }
  if (absl::IsDataLoss(status)) return status;
  if (!status.ok()) FailHere(status);
  return absl::OkStatus();
}

// The thread in the place does the upkeep that the poller left, and tells the poller.
void SendQueue::DoLeftUpkeep() {
  if (absl::Status status = Upkeep(); !status.ok()) protocol_error_ = std::move(status);
  events_.Tell(Events::kUpkept);
}

absl::StatusOr<bool> SendQueue::TakeUpkept() {
  if (!events_.TakeDue(Events::kUpkept)) return false;
  Visit visit(this);
  if (!protocol_error_.ok()) return std::exchange(protocol_error_, absl::OkStatus());
  return true;
}

bool SendQueue::Settle() {
  if (std::exchange(upkeep_left_, false)) {
    Visit behind_who_does_it(this);
  }
  return events_.IsDue(Events::kUpkept);
}

// The end ---------------------------------------------------------------------------------------------------------

void SendQueue::Fail(const absl::Status& why) {
  channel_->Close();
  Visit visit(this);
  error_ = why;
  control_.clear();
  space_waiters_.clear();
}

void SendQueue::FailHere(const absl::Status& why) {
  error_ = absl::UnavailableError(why.message());
  control_.clear();
  channel_->Close();
  group_.Wake();  // the poller learns it, and tells the ports
}

}  // namespace skein::link
