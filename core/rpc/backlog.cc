#include "core/rpc/backlog.h"

#include <cstring>

namespace skein::rpc {

absl::Status Backlog::Send(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items) {
  size_t gone = 0;
  if (!any_.load(std::memory_order_relaxed)) {
    const absl::StatusOr<size_t> taken = SendItems(link, port, items);
    if (!taken.ok() && !absl::IsResourceExhausted(taken.status())) return taken.status();
    gone = taken.value_or(0);
  }
  if (gone == items.size()) return absl::OkStatus();
  MutexLock lock(&mu_);
  for (const link::Gathered& item : items.subspan(gone)) {
    std::string& message = messages_.emplace_back();
    for (const link::ConstBytes& part : item) {
      message.append(reinterpret_cast<const char*>(part.data()), part.size());
    }
  }
  // Space may have come since; the port was told of it when there was nothing here.
  RetryLocked(link, port);
  return absl::OkStatus();
}

absl::StatusOr<size_t> Backlog::SendItems(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items) {
  const auto count = static_cast<int32_t>(items.size());
  if (due_ != nullptr) due_->fetch_sub(count, std::memory_order_relaxed);
  absl::StatusOr<size_t> gone = GiveToLink(link, port, items);
  const int32_t stayed = count - static_cast<int32_t>(gone.value_or(0));
  if (due_ != nullptr && stayed > 0) due_->fetch_add(stayed, std::memory_order_relaxed);
  return gone;
}

absl::StatusOr<size_t> Backlog::GiveToLink(link::Link& link, link::Port& port,
                                           absl::Span<const link::Gathered> items) const {
  if (together_) return link.SendItems(port, items);
  size_t sent = 0;
  for (; sent < items.size(); ++sent) {
    const absl::StatusOr<size_t> one = link.SendItems(port, items.subspan(sent, 1));
    if (!one.ok() && sent == 0) return one.status();
    if (one.value_or(0) == 0) break;
  }
  return sent;
}

void Backlog::ReplaceFirst(const absl::Status& why) {
  MessageHeader header;
  std::memcpy(&header, messages_.front().data(), sizeof(header));
  messages_.front() = replace_(header, why);
  if (!messages_.front().empty()) return;
  messages_.pop_front();
  if (due_ != nullptr) due_->fetch_sub(1, std::memory_order_relaxed);
}

void Backlog::Retry(link::Link& link, link::Port& port) {
  MutexLock lock(&mu_);
  RetryLocked(link, port);
}

void Backlog::RetryLocked(link::Link& link, link::Port& port) {
  while (!messages_.empty()) {
    const link::ConstBytes bytes(reinterpret_cast<const std::byte*>(messages_.front().data()),
                                 messages_.front().size());
    const link::Gathered item(&bytes, 1);
    const absl::StatusOr<size_t> taken = SendItems(link, port, {&item, 1});
    if (absl::IsResourceExhausted(taken.status())) {
      ReplaceFirst(taken.status());
      continue;
    }
    if (!taken.ok()) messages_.clear();  // the link is lost: there is nobody to send them to
    if (!taken.ok() || *taken == 0) break;
    messages_.pop_front();
  }
  any_.store(!messages_.empty(), std::memory_order_relaxed);
}

}  // namespace skein::rpc
