// The UNIX socket between the two ends of a channel: its end tells that the peer has died. And the notifications that
// wake sleepers: a pipe each way (core/channel/shm/wakeup_pipe.h), or a message on the socket where there is no pipe.
// It also carries memory that the peer may use by itself (region.h).
#ifndef SKEIN_CORE_CHANNEL_SHM_LIVENESS_CONNECTION_H_
#define SKEIN_CORE_CHANNEL_SHM_LIVENESS_CONNECTION_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/base/socket_message.h"
#include "core/base/unique_fd.h"
#include "core/channel/shm/layout.h"
#include "core/channel/shm/peer_memory.h"
#include "core/channel/shm/region.h"
#include "core/channel/shm/rendezvous.h"
#include "core/channel/shm/side_message.h"

namespace skein::channel::shm {

// Why a connection ends, and what the peer is told.
struct Ending {
  absl::Status why;
  EndState tell = EndState::kClosed;
  bool refused = false;  // by the kernel, so that it counts for later connections (refusals.h)
};

// Any thread, after Begin. Lock: mu_, before PeerMemory's and the Closer's.
//
// | atomic | written | pairs with |
// |---|---|---|
// | rings_at_ | by who takes the peer's pipe out, release, once | the acquire in Ring: it is open, and stays so |
// | peer_gone_ | by who sees the socket's end, release | the acquire in peer_gone(): what came before is there |
// | seen_ | by who empties the socket, relaxed | none: a stale value costs one more look |
// | looked_ | by the thread whose operation looks at the socket, relaxed | none: two threads at once look twice |
// | expects_memory_ | by the thread that asks for memory, relaxed | none: it asks, and is answered, afterwards |
class LivenessConnection {
 public:
  ~LivenessConnection();

  // Once. `own`, `peers` and `memory`, which takes what the peer passes, outlive it.
  void Begin(Meeting meeting, End& own, const End& peers, PeerMemory& memory);
  int socket() const { return socket_.get(); }
  std::optional<uid_t> other_user() const { return other_user_; }

  // Gives the peer this end's pipe. If the pipe cannot be passed, the peer rings by the socket.
  void PassPipe(int pipe);
  std::optional<Ending> Ring();
  // Gives the peer this memory. RESOURCE_EXHAUSTED: not now, the socket is full. UNAVAILABLE: the peer is gone.
  absl::Status Pass(const Region& region);
  // Whether the peer has sent something since the last Empty.
  bool HasNews() const {
    return peers_->socket_messages.load(std::memory_order_acquire) != seen_.load(std::memory_order_relaxed);
  }
  // Memory that the peer passes is taken from now on. Before, it is a protocol error: each piece takes a mapping of
  // this process's, and most channels need none.
  void ExpectMemory() { expects_memory_.store(true, std::memory_order_relaxed); }
  // Takes what is in the socket. It may be the notification of the thread that sleeps: another thread than the poller
  // wakes that thread afterwards.
  std::optional<Ending> Empty();
  // Looks whether the socket has ended, and takes nothing.
  void LookForEnd();
  // The same, if the last such look was a while ago. By operations: a killed process says nothing in shared memory, and
  // nobody may be polling.
  void LookNowAndThen();
  bool peer_gone() const { return peer_gone_.load(std::memory_order_acquire); }
  // The peer sees the end.
  void ShutDown();

 private:
  std::optional<Ending> Send(const SideMessage& message, int fd);
  std::optional<Ending> Heed(SocketMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Ending> TakePipe(SocketMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Ending> TakeMemory(const SideMessage& grant, SocketMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after Begin.
  UniqueFd socket_;
  End* own_ = nullptr;
  const End* peers_ = nullptr;
  PeerMemory* memory_ = nullptr;
  // The peer's, if not this process's own: no pipe goes either way, and threads that nobody waits for close what it
  // has had in its hands.
  std::optional<uid_t> other_user_;

  std::atomic<bool> peer_gone_ = false;
  std::atomic<int> rings_at_ = -1;
  std::atomic<uint32_t> seen_ = 0;
  std::atomic<int64_t> looked_ = 0;  // nanoseconds of Clock
  std::atomic<bool> expects_memory_ = false;

  Mutex mu_;
  UniqueFd peers_pipe_ ABSL_GUARDED_BY(mu_);
  bool pipe_came_ ABSL_GUARDED_BY(mu_) = false;  // of whatever user: no peer sends two
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_LIVENESS_CONNECTION_H_
