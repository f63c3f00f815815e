// The serving end of one connection of durable calls.
#ifndef SKEIN_CORE_DURABLE_CALLS_CALL_SESSION_H_
#define SKEIN_CORE_DURABLE_CALLS_CALL_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "core/durable/calls/message.h"
#include "core/durable/ledger/ledger.h"

namespace skein::durable {

class CallService;

// One thread brings messages; what is sent comes from any. Ended by its connection, by the service, or by a newer
// connection of the same client.
class CallSession : public std::enable_shared_from_this<CallSession> {
 public:
  // Whole messages, in the order in which they are to be sent. Called with a lock held: it only takes them. How many
  // wait to be sent is bounded by the client's window.
  using Send = std::function<void(std::string message)>;
  // Once, if the connection has not ended it before: what had been sent is the last. As Send.
  using OnEnd = std::function<void()>;

  // By the service.
  CallSession(CallService& service, Send send, OnEnd on_end)
      : service_(&service), send_(std::move(send)), on_end_(std::move(on_end)) {}

  // A whole message of the client's. An error: it is no such client, and the connection is to end.
  absl::Status OnMessage(absl::string_view message) ABSL_LOCKS_EXCLUDED(mu_);
  // By the connection. When this returns, nothing is sent any more, nor is on_end called.
  void Disconnected() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend CallService;

  absl::Status OnHello(const ClientMessage& message) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status OnCall(const ClientMessage& message) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status OnAsk(uint64_t sequence) ABSL_LOCKS_EXCLUDED(mu_);
  void OnAccepted(uint64_t sequence, const absl::StatusOr<Acceptance>& acceptance) ABSL_LOCKS_EXCLUDED(mu_);
  void OnNotAccepted(uint64_t sequence, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  void Refuse(uint64_t sequence, bool final, const absl::Status& error) ABSL_LOCKS_EXCLUDED(mu_);

  // By the service, on any thread.
  void TellPersisted(bool slow_down) ABSL_LOCKS_EXCLUDED(mu_);
  void Reply(uint64_t sequence, bool slow_down, const absl::StatusOr<absl::string_view>& reply)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Resume() ABSL_LOCKS_EXCLUDED(mu_);
  void End() ABSL_LOCKS_EXCLUDED(mu_);
  void EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Put(std::string message) ABSL_LOCKS_EXCLUDED(mu_);

  CallService* const service_;  // outlives every session that is not over
  // The thread's that brings messages.
  bool greeted_ = false;
  ClientId client_{};
  int refusals_ = 0;       // for lack of space, since a call was accepted or the log's head has moved
  uint64_t log_head_ = 0;  // then

  Mutex mu_;
  Send send_ ABSL_GUARDED_BY(mu_);  // null: it is over
  OnEnd on_end_ ABSL_GUARDED_BY(mu_);
  uint64_t refused_ ABSL_GUARDED_BY(mu_) = 0;    // and all behind it, until it comes again; 0: none is
  bool waits_ ABSL_GUARDED_BY(mu_) = false;      // refused_, until Resume: until then it must not come again
  uint64_t persisted_ ABSL_GUARDED_BY(mu_) = 0;  // up to here
  uint64_t told_ ABSL_GUARDED_BY(mu_) = 0;       // of these, told
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_CALLS_CALL_SESSION_H_
