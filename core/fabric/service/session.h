// A process's session with skeind: the socket over which it asks, and the page by which it tells of requests.
#ifndef SKEIN_CORE_FABRIC_SERVICE_SESSION_H_
#define SKEIN_CORE_FABRIC_SERVICE_SESSION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/base/sealed_memory.h"
#include "core/base/unique_fd.h"
#include "core/fabric/service/protocol.h"
#include "core/fabric/service/shared_queues.h"
#include "core/fabric/sleep_descriptor.h"

namespace skein::fabric::service {

// Where skeind is met.
inline constexpr absl::string_view kSocketName = "skeind.sock";
// An answer that takes longer is late: the request fails, and the session goes on.
inline constexpr absl::Duration kAnswersWithin = absl::Seconds(1);
// Until poll(2) reports one of the events, or an error. False: the time is over, or the socket cannot be waited for.
bool WaitFor(int socket, short events, Deadline until);
// skeind's next reply, whatever it says, and the descriptor that comes with it. UNAVAILABLE: skeind has gone.
// DEADLINE_EXCEEDED: the time is over. DATA_LOSS: it is none.
absl::StatusOr<Reply> ReceiveReply(int socket, Deadline until, UniqueFd* descriptor = nullptr);
// Where the kernel has no buffer for a wake-up, skeind or the process tries again after that.
inline constexpr absl::Duration kUntilWokenAgain = absl::Milliseconds(1);

// Any thread. Locks: mu_, then end_mu_.
//
// | atomic | written | pairs with |
// |---|---|---|
// | ended_ | by the thread that finds the session ended, release | the acquire in ended() |
// | unheard_ | by HasRequests and WakeAgain, relaxed | unheard(), relaxed: by the same thread, in BeginToAsk |
// | SessionPage's words | shared_queues.h | shared_queues.h |
class Session {
 public:
  // Asks the skeind that listens in `folder`. UNAVAILABLE: there is none, or it has refused; the message says which.
  // `silence`: for so long skeind may leave a question of Question's unanswered.
  static absl::StatusOr<std::shared_ptr<Session>> Open(const std::string& folder, absl::string_view local_address,
                                                       absl::Duration silence);

  // Asks and waits for the answer, for kAnswersWithin at most. UNAVAILABLE: the answer is late, or the one to an
  // earlier request is, or the session has ended. Else skeind's refusal. skeind is told to let go of what a late answer
  // brings.
  absl::StatusOr<Reply> Ask(const Request& request, int descriptor = -1) ABSL_LOCKS_EXCLUDED(mu_);
  // Has skeind let go of what has that number, by an operation that LetsGo. While an answer is late, skeind may do so
  // after this has returned.
  void LetGo(Operation operation, uint32_t number) ABSL_LOCKS_EXCLUDED(mu_);
  // The queue pair at that place has requests.
  void HasRequests(uint32_t place);
  // Whether the kernel had no memory to wake skeind: then WakeAgain, soon. False: it has none still.
  bool unheard() const { return unheard_.load(std::memory_order_relaxed); }
  bool WakeAgain();
  // Asks whether skeind is there, without waiting. Answered says whether skeind has looked since.
  uint64_t Question();
  bool Answered(uint64_t question) const { return page().answered.load(std::memory_order_relaxed) >= question; }
  absl::Duration silence() const { return silence_; }

  // Whether the session is known to have ended.
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  absl::Status error() const ABSL_LOCKS_EXCLUDED(end_mu_);
  // Looks whether it has.
  void Look();
  // Ends it. The sleepers, which outlive it or have been removed, are woken.
  absl::Status End(absl::string_view why) ABSL_LOCKS_EXCLUDED(end_mu_);
  void AddSleeper(SleepDescriptor* sleeper) ABSL_LOCKS_EXCLUDED(end_mu_);
  void RemoveSleeper(SleepDescriptor* sleeper) ABSL_LOCKS_EXCLUDED(end_mu_);
  const std::string& device() const { return device_; }
  uint64_t max_message_bytes() const { return max_message_bytes_; }
  uint64_t good_message_bytes() const { return good_message_bytes_; }

 private:
  Session(UniqueFd socket, SharedMemory page, absl::Duration silence)
      : socket_(std::move(socket)), page_memory_(std::move(page)), silence_(silence) {}
  absl::Status Begin(absl::string_view local_address);
  absl::StatusOr<Reply> SendAndReceive(const Request& request, int descriptor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Send(const Request& request, int descriptor, Deadline until);
  bool TakeLateAnswer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendLetGo(Operation operation, uint32_t number);
  bool Wake();
  SessionPage& page() const { return *reinterpret_cast<SessionPage*>(page_memory_.mapping.data()); }

  const UniqueFd socket_;
  SharedMemory page_memory_;
  const absl::Duration silence_;
  std::string device_;
  uint64_t max_message_bytes_ = 0;
  uint64_t good_message_bytes_ = 0;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> unheard_ = false;
  Mutex mu_;                                            // one request at a time
  std::optional<Operation> late_ ABSL_GUARDED_BY(mu_);  // the request whose answer is late
  mutable Mutex end_mu_;
  absl::Status error_ ABSL_GUARDED_BY(end_mu_);
  std::vector<SleepDescriptor*> sleepers_ ABSL_GUARDED_BY(end_mu_);
};

}  // namespace skein::fabric::service

#endif  // SKEIN_CORE_FABRIC_SERVICE_SESSION_H_
