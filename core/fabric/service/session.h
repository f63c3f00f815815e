// A process's session with skeind: the socket over which it asks, and the page by which it tells of requests.
#ifndef SKEIN_CORE_FABRIC_SERVICE_SESSION_H_
#define SKEIN_CORE_FABRIC_SERVICE_SESSION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "core/base/sealed_memory.h"
#include "core/base/unique_fd.h"
#include "core/fabric/service/protocol.h"
#include "core/fabric/service/shared_queues.h"

namespace skein::fabric::service {

// Where skeind is met.
inline constexpr absl::string_view kSocketName = "skeind.sock";

// Any thread. Lock: mu_, a leaf.
//
// | atomic | written | pairs with |
// |---|---|---|
// | ended_ | by the thread that finds the socket ended, release | the acquire in ended() |
// | SessionPage's words | shared_queues.h | shared_queues.h |
class Session {
 public:
  // Asks the skeind that listens in `folder`. UNAVAILABLE: there is none, or it has refused; the message says which.
  static absl::StatusOr<std::shared_ptr<Session>> Open(const std::string& folder, absl::string_view local_address);

  // Asks and waits for the answer, for a second at most: a skeind that takes longer has ended for this process. Its
  // refusal is an error; so is the session's end (UNAVAILABLE).
  absl::StatusOr<Reply> Ask(const Request& request, int descriptor = -1) ABSL_LOCKS_EXCLUDED(mu_);
  // The queue pair at that place has requests.
  void HasRequests(uint32_t place);

  // Whether the session is known to have ended.
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // Looks whether it has.
  void Look();
  void SetEnded() { ended_.store(true, std::memory_order_release); }
  const std::string& device() const { return device_; }
  uint64_t max_message_bytes() const { return max_message_bytes_; }
  uint64_t good_message_bytes() const { return good_message_bytes_; }

 private:
  Session(UniqueFd socket, SharedMemory page) : socket_(std::move(socket)), page_memory_(std::move(page)) {}
  absl::Status Begin(absl::string_view local_address);
  absl::Status Lost(absl::string_view why);
  SessionPage& page() const { return *reinterpret_cast<SessionPage*>(page_memory_.mapping.data()); }

  const UniqueFd socket_;
  SharedMemory page_memory_;
  std::string device_;
  uint64_t max_message_bytes_ = 0;
  uint64_t good_message_bytes_ = 0;
  std::atomic<bool> ended_ = false;
  Mutex mu_;  // one question at a time
};

}  // namespace skein::fabric::service

#endif  // SKEIN_CORE_FABRIC_SERVICE_SESSION_H_
