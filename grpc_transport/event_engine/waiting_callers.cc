#include "grpc_transport/event_engine/waiting_callers.h"

#include <grpc/support/time.h>

#include <atomic>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/base/forked.h"
#include "core/wait/spin.h"
#include "core/wait/turn.h"
#include "grpc_transport/event_engine/queue_seats.h"
#include "grpc_transport/event_engine/ready.h"

namespace skein::grpc_transport {
namespace {

// The real function, with the queue and all but the deadline.
using Real = absl::FunctionRef<grpc_event(gpr_timespec)>;

// A look into a queue costs a microsecond. A caller looks at once for what links bring (news), and so often for what
// comes otherwise: a timer's end, another connection's bytes.
constexpr int kLookIntoQueue = 4 * wait::Spin::kSeldom;

struct Callers {
  Callers(LinkPoller* poller, const wait::SpinPolicy& policy) : poller(*poller), budget(policy) {}

  LinkPoller& poller;
  wait::SpinBudget budget;  // of all queues: a blocking call has one of its own, which lives no longer
  wait::WaitingThreads waiting;
  QueueSeats seats;
};

// Release, by LetCallersPoll; acquire by each wait. Null: callers do not poll.
std::atomic<Callers*> process_callers{nullptr};

// Inside gRPC deadlines mean the same by any clock but a duration's, which begins anew with each look.
gpr_timespec Fixed(gpr_timespec deadline) {
  if (deadline.clock_type != GPR_TIMESPAN) return deadline;
  return gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
}
gpr_timespec Past(gpr_timespec deadline) { return gpr_inf_past(deadline.clock_type); }
bool IsNever(gpr_timespec deadline) { return gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0; }
bool Over(gpr_timespec deadline) {
  return !IsNever(deadline) && gpr_time_cmp(gpr_now(deadline.clock_type), deadline) >= 0;
}
Deadline DeadlineOf(gpr_timespec deadline) {
  if (IsNever(deadline)) return Deadline::max();
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return After(absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec));
}
bool Came(const grpc_event& event) { return event.type != GRPC_QUEUE_TIMEOUT; }

// A thread's polling while it waits, of no length even.
//
// A callback of gRPC's that runs on this thread may itself wait for a queue. Then nobody would arm what this thread has
// disarmed, so its polling ends for that time (Interrupted), and it sleeps inside gRPC: the poller's threads bring what
// comes. All of it belongs to one thread.
class Polling {
 public:
  explicit Polling(Callers& callers) : callers_(callers), ready_(Ready::Thread::kCaller) {
    current = this;
    Begin();
  }
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;
  ~Polling() {
    if (polls_.has_value()) End();
    current = nullptr;
  }

  // True: a queue may have an event by it.
  bool Poll(bool thorough) {
    polls_->Poll(thorough);
    if (!ready_.empty()) RunReady();
    const uint32_t news = callers_.poller.news();
    return std::exchange(seen_, news) != news;
  }
  void End() {
    polls_->End();
    Ended();
  }
  // Links that were not used are not busy any more. The poller's threads sleep on the descriptors, and this one inside
  // gRPC.
  void EndInVain() {
    polls_->EndAsleep();
    callers_.poller.busy_set().EndSleep();
    Ended();
  }

  // A wait of this thread, inside a callback that its own polling has run.
  class Interrupted {
   public:
    Interrupted() : interrupted_(current), polled_(current != nullptr && current->polls_.has_value()) {
      if (!polled_) return;
      interrupted_->polls_->End();
      interrupted_->polls_.reset();
      interrupted_->callers_.poller.CallerGoes();
    }
    Interrupted(const Interrupted&) = delete;
    Interrupted& operator=(const Interrupted&) = delete;
    ~Interrupted() {
      if (polled_) interrupted_->Begin();
    }
    bool any() const { return interrupted_ != nullptr; }

   private:
    Polling* const interrupted_;
    const bool polled_;  // false: polling has ended, and this callback came from arming
    const Ready::Waits waits_;
  };

 private:
  void Begin() {
    callers_.poller.CallerComes();
    polls_.emplace(callers_.poller.busy_set());
  }
  void Ended() {
    polls_.reset();
    callers_.poller.CallerGoes();
    if (!ready_.empty()) RunReady();  // arming has found something
  }
  void RunReady() {
    ready_.RunHere();
    callers_.poller.TellNews();
  }

  static thread_local Polling* current;

  Callers& callers_;
  Ready ready_;
  std::optional<wait::BusySet::Poller> polls_;  // none while it is interrupted, or has ended
  uint32_t seen_ = 0;
};
thread_local Polling* Polling::current = nullptr;

// Until the queue has an event, or it is over, or spinning does not pay. Gives the event; a timeout if there is none.
grpc_event Spin(Callers& callers, Polling& polling, absl::Duration budget, gpr_timespec deadline, Real real) {
  wait::Spin spin(callers.budget, budget, wait::Manner::kServes);
  int turn = 0;
  grpc_event event{};
  // The first look need not be thorough: the thread has just looked into the queue.
  const auto found = [&](bool thorough) {
    const bool first = turn++ == 0;
    if (!polling.Poll(thorough && !first) && turn % kLookIntoQueue != 0) return false;
    event = real(Past(deadline));
    return Came(event);
  };
  const auto seldom = [&] {
    return Over(deadline) || callers.poller.busy_set().empty() ? wait::Spun::kInVain : wait::Spun::kGoesOn;
  };
  return spin.Until(found, seldom) == wait::Spun::kFound ? event : real(Past(deadline));
}

// With the seat, where there is one. `fall_asleep` is called before the sleep.
grpc_event PollAndWait(Callers& callers, gpr_timespec deadline, Real real, absl::FunctionRef<void()> fall_asleep) {
  // For an event that is there already no link is polled: the poller's threads bring what comes while a caller never
  // waits.
  grpc_event event = real(Past(deadline));
  if (Came(event) || Over(deadline)) return event;
  wait::LetOthersRun();
  // Not before: a thread that others keep from its processor looks for nothing.
  const wait::WaitingThreads::One waiting(callers.waiting);
  {
    Polling polling(callers);
    const absl::Duration budget = wait::BeginSpin(callers.budget, &callers.waiting);
    if (budget > absl::ZeroDuration()) event = Spin(callers, polling, budget, deadline, real);
    Came(event) ? polling.End() : polling.EndInVain();
  }
  if (Came(event)) return event;
  fall_asleep();
  return real(deadline);
}

Callers* CallersWhoPoll() {
  Callers* const callers = process_callers.load(std::memory_order_acquire);
  return callers == nullptr || callers->poller.busy_set().empty() ? nullptr : callers;
}

grpc_event PollWithSeat(Callers& callers, const grpc_completion_queue* queue, gpr_timespec deadline, Real real) {
  if (!callers.seats.Sit(queue, DeadlineOf(deadline))) return real(Past(deadline));
  const grpc_event event = PollAndWait(callers, deadline, real, [&] { callers.seats.FallAsleep(queue); });
  callers.seats.GetUp(queue, /*call_next=*/event.type != GRPC_OP_COMPLETE);
  return event;
}

}  // namespace

void LetCallersPoll(LinkPoller* poller, const wait::SpinPolicy& policy) {
  if (policy.mode == WaitMode::kBlock) return;
  auto* const callers = new Callers(poller, policy);
  poller->OnNews([callers] { callers->seats.CallWhereEmpty(); });
  process_callers.store(callers, std::memory_order_release);
}

grpc_event PollAndPluck(PluckFunction* real, grpc_completion_queue* queue, void* tag, gpr_timespec deadline,
                        void* reserved) {
  if (InForkedChild()) return real(queue, tag, deadline, reserved);
  const Polling::Interrupted interrupted;
  Callers* const callers = CallersWhoPoll();
  if (callers == nullptr || interrupted.any()) return real(queue, tag, deadline, reserved);
  const auto pluck = [&](gpr_timespec until) { return real(queue, tag, until, reserved); };
  return PollAndWait(*callers, Fixed(deadline), pluck, [] {});
}

grpc_event PollAndNext(NextFunction* real, grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  if (InForkedChild()) return real(queue, deadline, reserved);
  const Polling::Interrupted interrupted;
  Callers* const callers = CallersWhoPoll();
  if (callers == nullptr || interrupted.any()) return real(queue, deadline, reserved);
  const auto next = [&](gpr_timespec until) { return real(queue, until, reserved); };
  return PollWithSeat(*callers, queue, Fixed(deadline), next);
}

}  // namespace skein::grpc_transport
