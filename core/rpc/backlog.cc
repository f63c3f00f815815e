#include "core/rpc/backlog.h"

namespace skein::rpc {

absl::Status Backlog::Send(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items, size_t* sent) {
  size_t gone = 0;
  if (!any_.load(std::memory_order_relaxed)) {
    const absl::StatusOr<size_t> taken = SendItems(link, port, items);
    if (!taken.ok()) return taken.status();
    gone = *taken;
  }
  if (gone < items.size()) {
    MutexLock lock(&mu_);
    for (const link::Gathered& item : items.subspan(gone)) {
      std::string& message = messages_.emplace_back();
      for (const link::ConstBytes& part : item) {
        message.append(reinterpret_cast<const char*>(part.data()), part.size());
      }
    }
    // Room may have come since; the port was told of it when there was nothing here.
    gone += RetryLocked(link, port);
  }
  if (sent != nullptr) *sent = gone;
  return absl::OkStatus();
}

absl::StatusOr<size_t> Backlog::SendItems(link::Link& link, link::Port& port,
                                          absl::Span<const link::Gathered> items) const {
  if (together_) return link.SendItems(port, items);
  size_t sent = 0;
  for (; sent < items.size(); ++sent) {
    const absl::StatusOr<size_t> one = link.SendItems(port, items.subspan(sent, 1));
    if (!one.ok()) return one.status();
    if (*one == 0) break;
  }
  return sent;
}

size_t Backlog::Retry(link::Link& link, link::Port& port) {
  MutexLock lock(&mu_);
  return RetryLocked(link, port);
}

size_t Backlog::RetryLocked(link::Link& link, link::Port& port) {
  size_t gone = 0;
  while (!messages_.empty()) {
    const link::ConstBytes bytes(reinterpret_cast<const std::byte*>(messages_.front().data()),
                                 messages_.front().size());
    const link::Gathered item(&bytes, 1);
    const absl::StatusOr<size_t> taken = link.SendItems(port, {&item, 1});
    if (!taken.ok()) messages_.clear();  // the link is lost: there is nobody to send them to
    if (!taken.ok() || *taken == 0) break;
    messages_.pop_front();
    ++gone;
  }
  any_.store(!messages_.empty(), std::memory_order_relaxed);
  return gone;
}

}  // namespace skein::rpc
