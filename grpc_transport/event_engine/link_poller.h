// Who polls links beside gRPC's own pollers: two threads of ours, asleep on the links' descriptors. One that finds
// something runs what has become ready while the other one sleeps on: a callback that blocks keeps no link waiting.
//
//   A thread's turn:   looks  ->  spins, if nobody else does and it pays  ->  sleeps in epoll  ->  polls what woke it
//                        ^                        |  something is ready                                   |
//                        |                        v                                                       |
//                        +-------------  runs it here, not looking  <-------------------------------------+
//
// At least one of the two looks, always: the last one that does gives what is ready to gRPC's engine and goes on. The
// second thread starts when the first has something to run, and there are no more: gRPC's own threads do what two
// cannot do at once.
//
// Callers that wait for a completion queue poll the busy links themselves (waiting_callers.h); then these threads
// sleep, and are woken by what comes while no caller polls.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LINK_POLLER_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LINK_POLLER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/wait/background_poller.h"
#include "core/wait/busy_set.h"
#include "core/wait/source.h"
#include "core/wait/spin_budget.h"
#include "grpc_transport/event_engine/ready.h"

namespace skein::grpc_transport {

// Any thread. Made once and never destroyed: its threads go on until the process ends, which they do not delay. In a
// child made by fork() it does nothing.
//
// Lock: mu_, before the background thread's and the busy set's. Under it sources are retired, and nothing else is
// called that could come back.
class LinkPoller final : public wait::Watcher {
 public:
  // An endpoint or a negotiation. While one exists, sources are watched. When the last has gone, idle sources end,
  // and a background thread keeps those that have yet to tell their peer something, until a user comes.
  class User {
   public:
    explicit User(LinkPoller* poller) : poller_(poller) { poller_->UserComes(); }
    User(const User&) = delete;
    User& operator=(const User&) = delete;
    ~User() { poller_->UserGoes(); }

    // A stream's link, for who is going to say of each write that it is busy. Null: it is not watched (any more).
    std::shared_ptr<wait::Busy> BusyOf(const wait::Source& source) { return poller_->BusyOf(source); }
    wait::BusySet& busy_set() { return poller_->busy_set_; }

   private:
    LinkPoller* const poller_;
  };

  // Starts no thread yet: it may be made before main.
  explicit LinkPoller(const wait::SpinPolicy& policy);

  // Starts a thread if there is none.
  void Watch(std::shared_ptr<wait::Source> source) override;

  wait::BusySet& busy_set() { return busy_set_; }

  // A caller of the program's polls what is busy, so this object's threads need not spin.
  void CallerComes() { callers_.fetch_add(1, std::memory_order_relaxed); }
  void CallerGoes() { callers_.fetch_sub(1, std::memory_order_relaxed); }

  // By every thread that has run what was ready: completion queues may have events now that others wait for.
  void TellNews();
  // Changes with each TellNews.
  uint32_t news() const { return news_.load(std::memory_order_relaxed); }
  // Called by this object's threads after TellNews. Set before the first Watch.
  void OnNews(absl::AnyInvocable<void()> on_news) { on_news_ = std::move(on_news); }

 private:
  class Watched;

  std::shared_ptr<wait::Busy> BusyOf(const wait::Source& source);
  void UserComes();
  void UserGoes();
  void WatchLocked(std::shared_ptr<wait::Source> source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Some thread polls it as if its descriptor had become readable.
  void Again(const wait::Source* source);

  bool StartThreadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run();
  // True: this thread counts as one that sleeps.
  bool BeginSleep(const Ready& ready);
  bool SpinUntilReady(const Ready& ready, wait::BusySet::Poller& polls);
  void SleepAndAttend();
  void AttendWoken();
  void Attend(const wait::Source* source);
  void RunReady(Ready& ready);
  // False: no other thread looks.
  bool LeaveToOther();
  // If there is no user: all sources.
  void StopIdle();
  void Forget(const std::shared_ptr<Watched>& watched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  wait::BusySet busy_set_;
  wait::SpinBudget budget_;
  const UniqueFd epoll_;
  const UniqueFd wake_;   // something is in again_, or the last user has gone
  const bool can_sleep_;  // there are both, and the one watches the other
  absl::AnyInvocable<void()> on_news_;

  Mutex mu_;
  int users_ ABSL_GUARDED_BY(mu_) = 0;
  int threads_ ABSL_GUARDED_BY(mu_) = 0;
  // By address: an event that comes late for a source that has gone finds none, or polls another one in vain.
  absl::flat_hash_map<const wait::Source*, std::shared_ptr<Watched>> watched_ ABSL_GUARDED_BY(mu_);
  std::vector<const wait::Source*> again_ ABSL_GUARDED_BY(mu_);
  wait::BackgroundPoller background_;  // of what lingers; nothing does while there is a user

  // Threads of ours that look, or have been started to. A thread leaves by LeaveToOther, acq_rel: of two that would,
  // one sees the other gone. The threads share nothing but what is under locks, or the kernel's.
  std::atomic<int> looking_{0};
  std::atomic<bool> spins_{false};  // relaxed, as are the others: hints
  std::atomic<int> callers_{0};
  std::atomic<uint32_t> news_{0};
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LINK_POLLER_H_
