// Messages of one port on their way to its link, and those that found no space there.
#ifndef SKEIN_CORE_RPC_BACKLOG_H_
#define SKEIN_CORE_RPC_BACKLOG_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/link/link.h"
#include "core/rpc/message.h"

namespace skein::rpc {

// Any thread. Lock: mu_, before the link's.
class Backlog {
 public:
  // What goes in place of a message that the link cannot carry, for `why`: a message that is small, or nothing. Called
  // with mu_ held.
  using Replace = std::function<std::string(const MessageHeader& of, const absl::Status& why)>;

  // `together`: whether items may share a message; false only to measure what that gives. `due`, if given, counts the
  // items that the peer waits for. The backlog lowers it before each item goes, because the peer may answer that item
  // at once, and raises it again if the item does not go. Relaxed: the link orders the peer's next message after the
  // item.
  Backlog(bool together, Replace replace, std::atomic<int32_t>* due = nullptr)
      : together_(together), replace_(std::move(replace)), due_(due) {}

  // All of `items`, each a message, have gone, or wait here as copies until there is space, or were replaced.
  // UNAVAILABLE when the link is lost.
  absl::Status Send(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items)
      ABSL_LOCKS_EXCLUDED(mu_);
  // After the port's OnSpace.
  void Retry(link::Link& link, link::Port& port) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::StatusOr<size_t> SendItems(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items);
  absl::StatusOr<size_t> GiveToLink(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items) const;
  void ReplaceFirst(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RetryLocked(link::Link& link, link::Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool together_;
  const Replace replace_;
  std::atomic<int32_t>* const due_;
  std::atomic<bool> any_ = false;  // relaxed hint: those that come later do not go first for ever
  Mutex mu_;
  std::deque<std::string> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_BACKLOG_H_
