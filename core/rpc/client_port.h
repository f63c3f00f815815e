// The calling end of a connection: which calls are under way, and who waits for each.
//
// A call's number is its place in a table as long as the peer's limit, and stays taken until the answer has come, even
// if nobody waits for that any more: so no more calls are ever under way than the peer has agreed to.
//
// Lock: mu_, under which nothing else is called.
#ifndef SKEIN_CORE_RPC_CLIENT_PORT_H_
#define SKEIN_CORE_RPC_CLIENT_PORT_H_

#include <skein/rpc.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/connect/negotiation.h"
#include "core/link/link.h"
#include "core/rpc/backlog.h"
#include "core/rpc/message.h"
#include "core/wait/wait_set.h"

namespace skein::rpc {

// A place in the table.
struct alignas(64) Slot {
  wait::Waiter waiter;
  Answer* answer = nullptr;  // by one thread at a time: its owner's, or while the call is under way the poller's
  uint32_t number = 0;
};

struct Request {
  Slot* slot = nullptr;
  uint32_t handler = 0;
  absl::string_view bytes;
};

class ClientPort final : public link::Port {
 public:
  ClientPort(connect::Place place, std::shared_ptr<wait::WaitSet> space, uint32_t max_calls, bool coalesce);

  // A place for one call after the other. RESOURCE_EXHAUSTED: as many are taken as the peer allows.
  absl::StatusOr<Slot*> Take() ABSL_LOCKS_EXCLUDED(mu_);
  // A place no call of which is under way.
  void Release(Slot* slot) ABSL_LOCKS_EXCLUDED(mu_);
  // All of them are sent together. What goes wrong with that is each one's answer: RESOURCE_EXHAUSTED when one is too
  // large, or larger than the memory that the kernel gives, UNAVAILABLE when the link is lost.
  void Start(absl::Span<const Request> requests);
  const std::shared_ptr<wait::WaitSet>& space() const { return space_; }
  link::Link& link() { return *link_; }
  // Why no call can be made any more; OK if one can.
  absl::Status error() const ABSL_LOCKS_EXCLUDED(mu_);
  // Nothing more is to be done: calls under way fail with `why`, the peer is told. Idempotent.
  void Close(const absl::Status& why);

  absl::Status OnData(absl::Span<const std::byte> payload) override;
  absl::Status OnOpen(uint64_t) override { return absl::DataLossError("a connection for calls opened by its server"); }
  absl::Status OnWindow(uint64_t) override { return absl::DataLossError("a window for calls"); }
  absl::Status OnCloseWrite() override { return absl::DataLossError("half of a connection for calls closed"); }
  void OnAbort(std::string text) override;
  void OnSpace() override { space_came_ = true; }
  void OnLost(const absl::Status& why) override { FailAll(why); }
  void Notify() override;

 private:
  absl::Status Check(absl::Span<const Request> requests) const;
  absl::Status Send(absl::Span<const Request> requests);
  // By who could not send the call.
  void Refuse(Slot& slot, const absl::Status& why);
  void FailAll(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<link::Link> link_;
  const std::shared_ptr<wait::WaitSet> space_;
  const std::function<void()> on_end_;
  const uint32_t max_calls_;
  const size_t largest_request_;
  const std::unique_ptr<Slot[]> slots_;
  Backlog backlog_;
  bool space_came_ = false;  // the poller's

  mutable Mutex mu_;
  std::vector<Slot*> free_ ABSL_GUARDED_BY(mu_);
  uint32_t used_ ABSL_GUARDED_BY(mu_) = 0;  // of the table, from its start
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  bool left_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_CLIENT_PORT_H_
