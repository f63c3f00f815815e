#include "core/rpc/client_port.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace skein::rpc {

ClientPort::ClientPort(connect::Place place, std::shared_ptr<wait::WaitSet> space, uint32_t max_calls, bool coalesce)
    : Port(place.stream),
      link_(std::move(place.link)),
      space_(std::move(space)),
      on_end_(std::move(place.on_end)),
      max_calls_(max_calls),
      largest_request_(std::max(link_->channel().LargestItem(), sizeof(MessageHeader)) - sizeof(MessageHeader)),
      slots_(std::make_unique<Slot[]>(max_calls)),
      backlog_(coalesce, [this](const MessageHeader& of, const absl::Status& why) {
        Refuse(slots_[of.call], why);
        return std::string();
      }) {}

absl::StatusOr<Slot*> ClientPort::Take() {
  MutexLock lock(&mu_);
  if (!error_.ok()) return error_;
  if (!free_.empty()) {
    Slot* const slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (used_ == max_calls_) {
    return absl::ResourceExhaustedError(absl::StrCat(max_calls_, " calls are under way, which is all the peer takes"));
  }
  Slot* const slot = &slots_[used_];
  slot->number = used_++;
  return slot;
}

void ClientPort::Release(Slot* slot) {
  MutexLock lock(&mu_);
  free_.push_back(slot);
}

absl::Status ClientPort::Check(absl::Span<const Request> requests) const {
  for (const Request& request : requests) {
    if (request.bytes.size() <= largest_request_) continue;
    return absl::ResourceExhaustedError(absl::StrCat("a request of ", request.bytes.size(), " bytes; the link carries ",
                                                     largest_request_, " in one message"));
  }
  return absl::OkStatus();
}

void ClientPort::Start(absl::Span<const Request> requests) {
  for (const Request& request : requests) request.slot->waiter.Begin();
  // After they have begun: whoever fails all calls later finds these among them.
  absl::Status status = error();
  if (status.ok()) status = Check(requests);
  if (status.ok()) status = Send(requests);
  if (status.ok()) return;
  for (const Request& request : requests) Refuse(*request.slot, status);
}

void ClientPort::Refuse(Slot& slot, const absl::Status& why) {
  switch (slot.waiter.TryClaim()) {
    case wait::Waiter::Claim::kAbandoned:
      return Release(&slot);
    case wait::Waiter::Claim::kWrong:  // FailAll has answered it
      return;
    case wait::Waiter::Claim::kClaimed:
      break;
  }
  slot.answer->status = why;
  if (slot.waiter.Complete()) space_->WakeSleeper();
}

absl::Status ClientPort::Send(absl::Span<const Request> requests) {
  constexpr size_t kUsual = 16;
  absl::InlinedVector<MessageHeader, kUsual> headers(requests.size());
  absl::InlinedVector<link::ConstBytes, 2 * kUsual> parts(2 * requests.size());
  absl::InlinedVector<link::Gathered, kUsual> items(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    headers[i] = RequestHeader(requests[i].slot->number, requests[i].handler);
    parts[2 * i] = BytesOf(headers[i]);
    parts[2 * i + 1] = BytesOf(requests[i].bytes);
    items[i] = {&parts[2 * i], 2};
  }
  return backlog_.Send(*link_, *this, items);
}

absl::Status ClientPort::error() const {
  MutexLock lock(&mu_);
  return error_;
}

absl::Status ClientPort::OnData(absl::Span<const std::byte> payload) {
  const absl::StatusOr<Message> message = Decode(payload);
  if (!message.ok()) return message.status();
  const MessageHeader& header = message->header;
  if (header.kind == MessageKind::kRequest) return absl::DataLossError("a request from the answering end");
  if (header.call >= max_calls_) return absl::DataLossError("an answer to a call of no such number");
  Slot& slot = slots_[header.call];
  switch (slot.waiter.TryClaim()) {
    case wait::Waiter::Claim::kAbandoned:
      Release(&slot);
      return absl::OkStatus();
    case wait::Waiter::Claim::kWrong:
      // After the end, all calls have been answered from here.
      return error().ok() ? absl::DataLossError("an answer to no call") : absl::OkStatus();
    case wait::Waiter::Claim::kClaimed:
      break;
  }
  if (header.kind == MessageKind::kReply) {
    slot.answer->status = absl::OkStatus();
    slot.answer->bytes.assign(reinterpret_cast<const char*>(message->body.data()), message->body.size());
  } else {
    slot.answer->status = ErrorFrom(header.subject, message->body);
  }
  if (slot.waiter.Complete()) space_->WakeSleeper();
  return absl::OkStatus();
}

void ClientPort::FailAll(const absl::Status& why) {
  uint32_t used = 0;
  {
    MutexLock lock(&mu_);
    if (!error_.ok()) return;
    error_ = why;
    used = used_;
  }
  bool sleeps = false;
  for (Slot* slot = slots_.get(); slot != slots_.get() + used; ++slot) {
    // Of those that were abandoned nothing is to be said, and no place is needed any more.
    if (slot->waiter.TryClaim() != wait::Waiter::Claim::kClaimed) continue;
    slot->answer->status = why;
    sleeps |= slot->waiter.Complete();
  }
  if (sleeps) space_->WakeSleeper();
}

void ClientPort::OnAbort(std::string text) {
  FailAll(absl::UnavailableError(absl::StrCat("the server has ended the connection: ", Printable(std::move(text)))));
}

void ClientPort::Notify() {
  if (std::exchange(space_came_, false)) backlog_.Retry(*link_, *this);
}

void ClientPort::Close(const absl::Status& why) {
  FailAll(why);
  {
    MutexLock lock(&mu_);
    if (std::exchange(left_, true)) return;
  }
  link_->SendControl(shared_from_this(), wire::ItemKind::kAbort, "closed");
  link_->ports().Remove(stream());
  if (on_end_) on_end_();
}

}  // namespace skein::rpc
