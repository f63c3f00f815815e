// The loop of a thread that serves connections: it polls what they are made of, and sleeps on all of it while nothing
// comes.
//
//                  Spin: something has come, or Wake
//            +-----------------------------------------+
//            v                                         |
//     the thread's own work --> BeginSpin --> Spin ----+
//            ^                                 | nothing has for so long
//            |                                 v
//            +------------------------------ Sleep: arms all sources, and sleeps on all descriptors
#ifndef SKEIN_CORE_WAIT_POLL_LOOP_H_
#define SKEIN_CORE_WAIT_POLL_LOOP_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/wait/source.h"
#include "core/wait/spin_budget.h"

namespace skein::wait {

class PollLoop final : public Watcher {
 public:
  // Told, by the loop's thread, of each descriptor of WatchFd that is readable. May call WatchFd, ForgetFd and Watch.
  using Readable = absl::FunctionRef<void(int fd)>;

  // RESOURCE_EXHAUSTED, or what else the kernel says: no descriptors.
  static absl::StatusOr<std::unique_ptr<PollLoop>> Create(const SpinPolicy& policy);
  // By its thread, or after that has ended. Connectors and listeners that were given the loop are gone.
  ~PollLoop() override { CloseAll(); }

  // Any thread. Polled until it is finished, by Spin; the loop asks the kernel again and again to watch one that it has
  // refused, and looks at it every 10 ms meanwhile.
  void Watch(std::shared_ptr<Source> source) override ABSL_LOCKS_EXCLUDED(mu_);
  // Any thread, and signal handlers. Ends the Spin or the Sleep that is under way, or the next one.
  void Wake();

  // All of the following: the loop's thread.
  absl::Status WatchFd(int fd);
  // Before the descriptor is closed, where another owner has it as well. One that is not watched: nothing happens.
  void ForgetFd(int fd);

  // How long the next Spin is to look (spin.h). InfiniteDuration: also while a source cannot be slept on, whose time is
  // simulated. Not at all while there are no sources, but for WaitMode::kPoll.
  absl::Duration BeginSpin();
  // Polls all sources once at least, and looks at the descriptors of WatchFd every millisecond. True: messages came, a
  // descriptor was readable, a source has finished, Wake was called, or it is `deadline`. False: none of this for
  // `budget`.
  bool Spin(absl::Duration budget, Deadline deadline, Readable readable) ABSL_LOCKS_EXCLUDED(mu_);
  // Sleeps until a source has work, a descriptor is readable, Wake is called, or it is `deadline`.
  void Sleep(Deadline deadline, Readable readable);
  // All three. Returns when something has come, or it is `deadline`.
  void Turn(Deadline deadline, Readable readable) ABSL_LOCKS_EXCLUDED(mu_);

  // Whether a source has finished, and was dropped, since the last call.
  bool TakeFinished() { return std::exchange(finished_, false); }
  // Polls each source, closes it, and drops it: also one that somebody else keeps is of no more use.
  void CloseAll() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  PollLoop(UniqueFd epoll, UniqueFd wake, const SpinPolicy& policy)
      : epoll_(std::move(epoll)), wake_(std::move(wake)), budget_(policy) {}

  absl::Status Add(int fd, int named);
  void TakeNew() ABSL_LOCKS_EXCLUDED(mu_);
  // Not thoroughly: sources that can tell at a glance that no message has come are left alone.
  bool PollAll(bool thoroughly) ABSL_LOCKS_EXCLUDED(mu_);
  bool DropFinished();
  // True: a descriptor of WatchFd was readable.
  bool Look(int timeout_ms, Readable readable);
  bool LookNowAndThen(Deadline now, Readable readable);
  void WatchRefused();

  const UniqueFd epoll_;
  const UniqueFd wake_;
  SpinBudget budget_;
  std::vector<std::shared_ptr<Source>> sources_;
  std::vector<std::weak_ptr<Source>> refused_;  // of these: the kernel does not watch them
  bool finished_ = false;
  Deadline next_look_ = Deadline::min();

  // Wake, release, and then the note in wake_; the loop's thread, acquire. So a thread that takes the note out sees it.
  std::atomic<bool> woken_ = false;
  Mutex mu_;
  std::vector<std::shared_ptr<Source>> new_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_POLL_LOOP_H_
