// Messages of one port on their way to its link, and those that found no room there.
#ifndef SKEIN_CORE_RPC_BACKLOG_H_
#define SKEIN_CORE_RPC_BACKLOG_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/link/link.h"

namespace skein::rpc {

// Any thread. Lock: mu_, before the link's.
class Backlog {
 public:
  // `together`: whether items may share a message; false only to measure what that gives. `due`, if given, counts the
  // items that the peer waits for. The backlog lowers it before each item goes, because the peer may answer that item
  // at once, and raises it again if the item does not go. Relaxed: the link orders the peer's next message after the
  // item.
  explicit Backlog(bool together, std::atomic<int32_t>* due = nullptr) : together_(together), due_(due) {}

  // All of `items` have gone, or wait here as copies until there is room. UNAVAILABLE when the link is lost.
  absl::Status Send(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items)
      ABSL_LOCKS_EXCLUDED(mu_);
  // After the port's OnRoom.
  void Retry(link::Link& link, link::Port& port) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::StatusOr<size_t> SendItems(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items);
  absl::StatusOr<size_t> GiveToLink(link::Link& link, link::Port& port, absl::Span<const link::Gathered> items) const;
  void RetryLocked(link::Link& link, link::Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool together_;
  std::atomic<int32_t>* const due_;
  std::atomic<bool> any_ = false;  // relaxed hint: those that come later do not go first for ever
  Mutex mu_;
  std::deque<std::string> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_BACKLOG_H_
