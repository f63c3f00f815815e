// Closes what strangers have had in their hands. The last close of a socket or file may take as long as who made it
// likes: a TCP connection that lingers, passed over the socket that is closed with it; a file of FUSE. So threads do it
// that nobody waits for.
#ifndef SKEIN_CORE_BASE_CLOSER_H_
#define SKEIN_CORE_BASE_CLOSER_H_

#include <condition_variable>
#include <cstddef>
#include <deque>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"

namespace skein {

// Any thread. Never destroyed: its threads may be kept for ever.
class Closer {
 public:
  static Closer& Get();

  // Take it, whatever waits already.
  // Anything: nothing is read out of it, where a stranger may be writing without end.
  void Close(UniqueFd fd);
  // A UNIX socket: its peer sees the end at once, and is not reset for what has come and is unread.
  void CloseSocket(UniqueFd fd);
  // Whether more should be accepted from strangers: it waits a moment for what they are closing to be closed, and not
  // again before any of it was.
  bool HasSpace();

 private:
  static constexpr size_t kMostWaiting = 64;
  static constexpr size_t kMostThreads = 8;
  static constexpr int kPatienceMs = 10;

  struct Left {
    UniqueFd fd;
    bool shut_down = false;
  };

  void Leave(Left left);
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run();
  Left Next();
  void Closed();

  Mutex mu_;
  std::condition_variable_any closed_;
  std::deque<Left> waiting_ ABSL_GUARDED_BY(mu_);
  size_t threads_ ABSL_GUARDED_BY(mu_) = 0;
  size_t closing_ ABSL_GUARDED_BY(mu_) = 0;  // of these, in the midst of it
  bool stuck_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace skein

#endif  // SKEIN_CORE_BASE_CLOSER_H_
