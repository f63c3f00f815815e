// All threads of this process that wait for what comes by one source: how they share the polling, spin, and sleep.
#ifndef SKEIN_CORE_WAIT_WAIT_SET_H_
#define SKEIN_CORE_WAIT_WAIT_SET_H_

#include <sys/eventfd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/wait/atomics.h"
#include "core/wait/background_poller.h"
#include "core/wait/poller_role.h"
#include "core/wait/source.h"
#include "core/wait/spin.h"
#include "core/wait/wakes.h"

namespace skein::wait {

struct WaiterAtomics : SystemAtomics {
  using Deadline = skein::Deadline;
  static bool Over(Deadline deadline) { return deadline != Deadline::max() && Clock::now() >= deadline; }
  static void Park(const std::atomic<uint32_t>& word, uint32_t value, Deadline deadline);
  static void Unpark(const void* address) { Wakes::Unpark(address); }
};

using Waiter = BasicWaiter<WaiterAtomics>;

// The connection that a negotiation came by, which says that the peer is there as long as it is silent.
struct NegotiationConnection {
  int fd = -1;  // closed only when it has been removed, for the next connection gets its number
  // Called by a thread that waits, once, with no lock held, when all that the peer had sent before it went has been
  // polled.
  std::function<void()> on_end;
  // Whether its stream's user waits elsewhere for what the background thread polls.
  bool depends_on_background = false;
};

// Any thread. Lock: mu_, under which nobody else is called. As a source it is for the background thread alone.
class WaitSet final : public Source {
 public:
  // `background` looks after the source when no thread waits for anything; it outlives this.
  WaitSet(std::shared_ptr<SharedSource> source, const SpinPolicy& policy, BackgroundPoller* background = nullptr);

  // Until something of this source's completes `waiter`: true. False: the time is up.
  bool Wait(Waiter& waiter, Deadline deadline);
  // The same, after `send`, which is what leads to it. It need not wake a server that is awake: this thread polls from
  // before it until an answer shows that it was seen, or wakes the server.
  bool SendAndWait(absl::FunctionRef<void()> send, Waiter& waiter, Deadline deadline);
  // If a thread waits. The waiter's owner may be gone when this returns.
  void Complete(Waiter& waiter) {
    if (waiter.TryClaim() == Waiter::Claim::kClaimed && waiter.Complete()) WakeSleeper();
  }
  // The thread that has the poller role, and sleeps: its waiter is complete.
  void WakeSleeper();
  // Where anything has arrived, polls it. Where a thread waits here, that thread polls; a background poll under way is
  // waited for, for 10 ms at most.
  void PollIfLeftAlone();

  // Whether it is known that what is sent by this source's link gets there.
  bool reached() const { return reached_.load(std::memory_order_relaxed); }
  void set_reached() { reached_.store(true, std::memory_order_relaxed); }

  // Not OK: the kernel refuses to watch the connection. Threads that wait here look at it every 10 ms; the background
  // thread does not.
  absl::Status Add(const std::shared_ptr<NegotiationConnection>& connection);
  // False: it has been removed before.
  bool Remove(const std::shared_ptr<NegotiationConnection>& connection);
  // Of one that was added: sets depends_on_background.
  void DependOnBackground(const std::shared_ptr<NegotiationConnection>& connection);
  // True: some have ended.
  bool LookAtConnections();

  bool Poll() override;
  bool Arm() override { return source_->Arm() && !LookAtConnections(); }
  int fd() const override { return source_->fd(); }
  bool finished() const override { return source_->finished(); }
  // The source's owner ends it when it is not used any more; the other end hears of that.
  bool Retire() override { return finished(); }
  Attendance TakeAttendance() override;
  // A source and what it brings keep each other until it is finished: ends it.
  void End();

 private:
  // By the thread that has the poller role.
  void Drive(Waiter& waiter, Deadline deadline, absl::FunctionRef<void()> send);
  absl::Duration Budget();
  bool SpinUntil(Waiter& waiter, Deadline deadline, absl::Duration budget);
  void Sleep(Waiter& waiter, Deadline deadline);
  bool LookAtUnwatched();
  bool EndIfOver(int fd);
  void NudgeBackground() {
    if (background_ != nullptr) background_->Nudge();
  }
  // By the others.
  void WatchWaiter(const Waiter& waiter, Deadline deadline);
  // Polls what has arrived. False: another thread is polling.
  bool TryDrain();
  void Drain();

  const std::shared_ptr<SharedSource> source_;
  PollerRole<WaiterAtomics> role_;
  SpinBudget budget_;        // of the thread that has the role
  SpinBudget watch_budget_;  // of the others
  const bool spins_;         // its threads do before they sleep
  BackgroundPoller* const background_;
  // Only the thread that has the role takes a wake-up out of it. Out of the source's descriptor the background thread
  // may, too. Invalid when the process had no descriptor left: then no thread sleeps for longer than 10 ms.
  const UniqueFd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> reached_ = false;  // relaxed: a fact, once
  // Sequentially consistent: changed, then the background thread is nudged; that looks at them after it has said that
  // it sleeps.
  std::atomic<bool> asleep_ = false;    // the thread that has the role
  std::atomic<bool> attended_ = false;  // since the background thread asked
  std::atomic<int> dependents_ = 0;     // on the background thread; relaxed: it hears of a new one when something comes

  // The kernel has refused to watch a connection. Relaxed: the thread that adds the connection wakes the sleeper
  // afterwards.
  std::atomic<bool> unwatched_ = false;

  Mutex mu_;
  std::vector<std::shared_ptr<NegotiationConnection>> connections_ ABSL_GUARDED_BY(mu_);
};

// The wait set of each source. Any thread. Lock: mu_, a leaf.
class WaitSets {
 public:
  explicit WaitSets(const SpinPolicy& policy, BackgroundPoller* background = nullptr)
      : policy_(policy), background_(background) {}

  std::shared_ptr<WaitSet> Of(const std::shared_ptr<SharedSource>& source) {
    MutexLock lock(&mu_);
    absl::erase_if(sets_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<WaitSet>& known = sets_[source.get()];
    std::shared_ptr<WaitSet> set = known.lock();
    if (set == nullptr) known = set = std::make_shared<WaitSet>(source, policy_, background_);
    return set;
  }

 private:
  const SpinPolicy policy_;
  BackgroundPoller* const background_;
  Mutex mu_;
  // A set keeps its source: no other source has that address meanwhile.
  absl::flat_hash_map<const SharedSource*, std::weak_ptr<WaitSet>> sets_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_WAIT_SET_H_
