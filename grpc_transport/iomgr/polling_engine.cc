#include "grpc_transport/iomgr/polling_engine.h"

#include <atomic>
#include <new>
#include <utility>

#include "core/base/deadline.h"
#include "core/base/forked.h"
#include "core/wait/spin.h"
#include "core/wait/turn.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {
namespace {

using grpc_core::ExecCtx;
using grpc_core::Timestamp;

const grpc_event_engine_vtable& epoll1 = grpc_ev_epoll1_posix;

wait::BusySet* busy_set = nullptr;
// Of all pollsets: a blocking call has one of its own, which lives no longer.
wait::SpinBudget* spin_budget = nullptr;

// Of all pollsets, too: they wait for one connection.
wait::WaitingThreads waiting_threads;

// While nobody sleeps in epoll1, somebody looks there so often, and so many times: it handles one event each time.
// Relaxed: two may look at once.
constexpr std::chrono::microseconds kLookAtDescriptors{200};
constexpr int kLooks = 4;
std::atomic<Clock::rep> looked_at_descriptors{0};

// What a pollset has beside epoll1's, behind that in memory. All but `kicks` under the pollset's lock.
struct Waits {
  explicit Waits(gpr_mu* mu) : mu(mu) {}

  gpr_mu* const mu;
  std::atomic<uint64_t> kicks{0};  // for whoever spins; relaxed: what a kick tells of is under the lock
  int spinners = 0;
  int sleepers = 0;  // inside epoll1
  bool kicked_without_waiter = false;
  bool shut_down = false;
  grpc_closure* after_spinners = nullptr;  // of a shutdown that epoll1 has yet to hear of
};
static_assert(alignof(Waits) <= alignof(void*), "gRPC aligns pollsets for no more");

size_t Offset() { return (epoll1.pollset_size + alignof(Waits) - 1) / alignof(Waits) * alignof(Waits); }

Waits& WaitsOf(grpc_pollset* pollset) {
  static const size_t offset = Offset();
  return *reinterpret_cast<Waits*>(reinterpret_cast<char*>(pollset) + offset);
}

void Init(grpc_pollset* pollset, gpr_mu** mu) {
  epoll1.pollset_init(pollset, mu);
  new (&WaitsOf(pollset)) Waits(*mu);
}

void Destroy(grpc_pollset* pollset) {
  WaitsOf(pollset).~Waits();
  epoll1.pollset_destroy(pollset);
}

void Shutdown(grpc_pollset* pollset, grpc_closure* closure) {
  Waits& waits = WaitsOf(pollset);
  waits.shut_down = true;
  waits.kicks.fetch_add(1, std::memory_order_relaxed);
  if (waits.spinners == 0) return epoll1.pollset_shutdown(pollset, closure);
  waits.after_spinners = closure;
}

grpc_error_handle Kick(grpc_pollset* pollset, grpc_pollset_worker* worker) {
  Waits& waits = WaitsOf(pollset);
  if (worker != nullptr) return epoll1.pollset_kick(pollset, worker);
  if (waits.spinners > 0) {
    waits.kicks.fetch_add(1, std::memory_order_relaxed);
  } else if (waits.sleepers > 0) {
    return epoll1.pollset_kick(pollset, nullptr);
  } else {
    waits.kicked_without_waiter = true;
  }
  return absl::OkStatus();
}

bool Over(Timestamp deadline) { return deadline != Timestamp::InfFuture() && Timestamp::Now() >= deadline; }

// With no thread in epoll1, descriptors are looked at now and then all the same.
bool TimeToLook() {
  if (busy_set->empty() || busy_set->anybody_sleeps()) return false;
  const Deadline last{Clock::duration(looked_at_descriptors.load(std::memory_order_relaxed))};
  return Clock::now() - last >= kLookAtDescriptors;
}

// Runs what has become ready, of whatever completion queue. True: one of this thread's own may be among it; gRPC says
// so by its ExecCtx or by a kick.
bool FlushAndFinish() {
  if (!ExecCtx::Get()->HasWork()) return false;
  ExecCtx::Get()->Flush();
  return ExecCtx::Get()->IsReadyToFinish();
}

// kCalledAway: the time is up, or it is time to look at descriptors.
wait::Spun SpinUntilKicked(const Waits& waits, uint64_t kicks, Timestamp deadline, absl::Duration budget,
                           wait::BusySet::Poller& polls) {
  wait::Spin spin(*spin_budget, budget, wait::Manner::kServes);
  const auto found = [&](bool thorough) {
    polls.Poll(thorough);
    return FlushAndFinish() || waits.kicks.load(std::memory_order_relaxed) != kicks;
  };
  return spin.Until(found, [&] {
    ExecCtx::Get()->InvalidateNow();
    return Over(deadline) || TimeToLook() ? wait::Spun::kCalledAway : wait::Spun::kGoesOn;
  });
}

// With the pollset's lock, which is let go of meanwhile. True: it is for the caller to look at what it waits for.
// False: what is busy is armed, and this thread counts as one that sleeps.
bool Spin(grpc_pollset* pollset, Waits& waits, Timestamp deadline) {
  const uint64_t kicks = waits.kicks.load(std::memory_order_relaxed);
  ++waits.spinners;
  gpr_mu_unlock(waits.mu);
  wait::LetOthersRun();
  // Not before: a thread that others keep from its processor looks for nothing.
  const wait::WaitingThreads::One waiting(waiting_threads);
  const absl::Duration budget = wait::BeginSpin(*spin_budget, &waiting_threads);
  wait::BusySet::Poller polls(*busy_set);
  const wait::Spun spun =
      budget > absl::ZeroDuration() ? SpinUntilKicked(waits, kicks, deadline, budget, polls) : wait::Spun::kInVain;
  const bool returns = spun != wait::Spun::kInVain;
  returns ? polls.End() : polls.EndAsleep();
  const bool finish = FlushAndFinish();  // arming may have found something
  ExecCtx::Get()->InvalidateNow();
  gpr_mu_lock(waits.mu);
  if (--waits.spinners == 0 && waits.after_spinners != nullptr) {
    epoll1.pollset_shutdown(pollset, std::exchange(waits.after_spinners, nullptr));
  }
  if (returns) return true;
  if (!finish && waits.kicks.load(std::memory_order_relaxed) == kicks) return false;
  busy_set->EndSleep();
  return true;
}

grpc_error_handle WorkInEpoll1(grpc_pollset* pollset, Waits& waits, grpc_pollset_worker** worker, Timestamp deadline) {
  const wait::WaitingThreads::One waiting(waiting_threads);
  ++waits.sleepers;
  grpc_error_handle error = epoll1.pollset_work(pollset, worker, deadline);
  --waits.sleepers;
  return error;
}

grpc_error_handle LookAtDescriptors(grpc_pollset* pollset, Waits& waits, grpc_pollset_worker** worker) {
  looked_at_descriptors.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  grpc_error_handle error;
  for (int i = 0; i < kLooks && error.ok() && !waits.shut_down && !waits.kicked_without_waiter; ++i) {
    error = WorkInEpoll1(pollset, waits, worker, Timestamp::InfPast());
  }
  return error;
}

grpc_error_handle Work(grpc_pollset* pollset, grpc_pollset_worker** worker, Timestamp deadline) {
  BeginUse();
  Waits& waits = WaitsOf(pollset);
  if (std::exchange(waits.kicked_without_waiter, false) || waits.shut_down) return absl::OkStatus();
  if (InForkedChild()) return WorkInEpoll1(pollset, waits, worker, deadline);
  if (TimeToLook()) return LookAtDescriptors(pollset, waits, worker);
  if (!busy_set->SleepUnlessBusy() && Spin(pollset, waits, deadline)) return absl::OkStatus();
  grpc_error_handle error = WorkInEpoll1(pollset, waits, worker, deadline);
  busy_set->EndSleep();
  return error;
}

struct Looker {
  grpc_pollset* const pollset = static_cast<grpc_pollset*>(gpr_zalloc(epoll1.pollset_size));
  gpr_mu* mu = nullptr;
  grpc_closure on_shutdown;
};

}  // namespace

// By a pollset that no other thread waits in. epoll1 knows one set of descriptors for all.
void LookAtDescriptorsNow() {
  {
    // A link that no thread has armed since it was busy has no descriptor to be woken by.
    wait::BusySet::Poller polls(*busy_set);
    polls.Poll(/*thorough=*/true);
    polls.EndAsleep();
    busy_set->EndSleep();
  }
  auto* const looker = new Looker;
  epoll1.pollset_init(looker->pollset, &looker->mu);
  gpr_mu_lock(looker->mu);
  for (int i = 0; i < kLooks; ++i) {
    grpc_pollset_worker* worker = nullptr;
    if (!epoll1.pollset_work(looker->pollset, &worker, Timestamp::InfPast()).ok()) break;
  }
  GRPC_CLOSURE_INIT(
      &looker->on_shutdown,
      [](void* arg, grpc_error_handle) {
        auto* const done = static_cast<Looker*>(arg);
        epoll1.pollset_destroy(done->pollset);
        gpr_free(done->pollset);
        delete done;
      },
      looker, nullptr);
  epoll1.pollset_shutdown(looker->pollset, &looker->on_shutdown);
  gpr_mu_unlock(looker->mu);
  ExecCtx::Get()->Flush();
}

void RegisterPollingEngine(wait::BusySet* busy, const wait::SpinPolicy& policy) {
  busy_set = busy;
  spin_budget = new wait::SpinBudget(policy);
  static grpc_event_engine_vtable engine = epoll1;
  engine.pollset_size = Offset() + sizeof(Waits);
  engine.pollset_init = Init;
  engine.pollset_shutdown = Shutdown;
  engine.pollset_destroy = Destroy;
  engine.pollset_work = Work;
  engine.pollset_kick = Kick;
  grpc_register_event_engine_factory(&engine, /*add_at_head=*/false);
}

}  // namespace skein::grpc_transport
