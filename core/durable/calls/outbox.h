// The calling end of durable calls: what has been sent and is not known to be safe, and what is safe and not answered,
// over any number of connections.
#ifndef SKEIN_CORE_DURABLE_CALLS_OUTBOX_H_
#define SKEIN_CORE_DURABLE_CALLS_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/durable/calls/message.h"

namespace skein::durable {

struct OutboxOptions {
  std::optional<Persistence> wanted;        // none: whatever the server's log gives
  uint64_t max_calls = 4096;                // not answered, sent or not
  uint64_t max_bytes = uint64_t{64} << 20;  // of their requests
  // Of calls that are sent and not answered, while the server asks for less (SC'21, section 4.2).
  uint64_t max_when_slow = 16;
  std::function<absl::Time()> now = BootNow;  // the server's goes on while this machine is suspended
};

// Any thread, but for messages and connections: one at a time. Callbacks are called without locks, by who brings what
// they tell; they may call anything here.
//
// A call that Start has taken is sent as often as it takes, until a server says that it is safe: over any number of
// connections, as long as this lives. The server executes it once. Only a server that has forgotten this client, or
// lost its log, cannot say what it has executed: then calls that had been sent fail, with DATA_LOSS if they had been
// persisted and otherwise with UNKNOWN.
class Outbox {
 public:
  // Gets whole messages in the order in which they are to be sent. Called with a lock held: it only takes them, and
  // calls nothing here.
  using Send = std::function<void(std::string message)>;
  // At most once, before the reply: it is safe, or will not be: then the reply is the same error.
  using Persisted = absl::AnyInvocable<void(const absl::StatusOr<Persistence>& level)>;
  // Once.
  using Replied = absl::AnyInvocable<void(absl::StatusOr<std::string> reply)>;

  explicit Outbox(const OutboxOptions& options) : options_(options) {}
  // Calls without an answer hear nothing; FailAll first, if they should.
  ~Outbox() = default;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Either callback may be empty. RESOURCE_EXHAUSTED: too many, or too large for the server's log; neither is called.
  absl::Status Start(absl::string_view request, Persisted persisted, Replied replied) ABSL_LOCKS_EXCLUDED(mu_);

  // A connection to a server is there. It says Hello; what is to be said else follows the answer.
  void Connected(Send send) ABSL_LOCKS_EXCLUDED(mu_);
  // From the server of that connection. An error is the end of it. FAILED_PRECONDITION, RESOURCE_EXHAUSTED: the server
  // wants no calls; what was not safe has failed. ABORTED: connect again at once. Others: it is no such server.
  absl::Status OnMessage(absl::string_view message) ABSL_LOCKS_EXCLUDED(mu_);
  // Nothing is said by that connection any more. Calls wait for the next.
  void Disconnected() ABSL_LOCKS_EXCLUDED(mu_);
  // All calls end so. Those that were sent may be executed yet, and are not sent again.
  void FailAll(const absl::Status& error) ABSL_LOCKS_EXCLUDED(mu_);

  struct Standing {
    uint64_t unanswered = 0;
    uint64_t unsafe = 0;  // of these, not known to be safe
    bool open = false;    // a server takes calls
    bool slow = false;    // fewer than it could
  };
  Standing standing() const ABSL_LOCKS_EXCLUDED(mu_);
  // Grows with each call that has become safe, or has ended.
  uint64_t progress() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Call {
    std::string request;   // empty once it is safe
    absl::Time sent_at{};  // first
    Persisted persisted;
    Replied replied;
    bool wanted = true;  // false: it has failed, and its sequence is still to be used up
  };
  enum class State : uint8_t { kAway, kGreeting, kOpen, kHeldBack };
  // What is to be told when the lock is let go.
  struct News {
    std::vector<std::pair<Persisted, absl::StatusOr<Persistence>>> persisted;
    std::vector<std::pair<Replied, absl::StatusOr<std::string>>> replied;
    void Tell();
  };

  absl::Status Take(absl::string_view request, Persisted persisted, Replied replied) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TooLarge(uint64_t request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Handle(const ServerMessage& message, News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OnStanding(const ServerMessage& message, News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OnPersisted(const ServerMessage& message, News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OnReply(const ServerMessage& message, News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OnRefused(const ServerMessage& message, News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MarkPersisted(uint64_t up_to, Persistence level, News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(Call& call, const absl::Status& error, News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayBeForgotten(const ServerMessage& standing) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginAnew(News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendAgain(News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendMore(News& news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendCall(uint64_t sequence, const Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const OutboxOptions options_;
  mutable Mutex mu_;
  ClientId client_ ABSL_GUARDED_BY(mu_) = RandomId();
  Send send_ ABSL_GUARDED_BY(mu_);
  State state_ ABSL_GUARDED_BY(mu_) = State::kAway;
  bool slow_ ABSL_GUARDED_BY(mu_) = false;
  Persistence level_ ABSL_GUARDED_BY(mu_) = Persistence::kVisible;
  uint64_t largest_ ABSL_GUARDED_BY(mu_) = UINT64_MAX;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;                     // sequence that was sent
  uint64_t persisted_ ABSL_GUARDED_BY(mu_) = 0;                // up to here
  absl::btree_map<uint64_t, Call> sent_ ABSL_GUARDED_BY(mu_);  // by sequence: without a reply
  std::deque<Call> unsent_ ABSL_GUARDED_BY(mu_);
  uint64_t progress_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t calls_ ABSL_GUARDED_BY(mu_) = 0;  // wanted
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of their requests, as long as these are held
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_CALLS_OUTBOX_H_
