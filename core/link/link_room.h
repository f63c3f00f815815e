// All threads of this process that wait for what comes by one link: how they share the polling, spin, and sleep.
#ifndef SKEIN_CORE_LINK_LINK_ROOM_H_
#define SKEIN_CORE_LINK_LINK_ROOM_H_

#include <sys/eventfd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/coalesce/atomics.h"
#include "core/link/link.h"
#include "core/wait/caretaker.h"
#include "core/wait/spin.h"
#include "core/wait/spin_budget.h"
#include "core/wait/waiting_room.h"

namespace skein::link {

struct WaitAtomics : coalesce::SystemAtomics {
  using Deadline = skein::Deadline;
  static bool Over(Deadline deadline) { return deadline != Deadline::max() && Clock::now() >= deadline; }
  static void Park(const std::atomic<uint32_t>& word, uint32_t value, Deadline deadline);
};

using Ticket = wait::Ticket<WaitAtomics>;

// The connection that a negotiation came by, which says that the peer is there as long as it is silent.
struct Lifeline {
  int fd = -1;  // closed only when it has been removed, for the next connection gets its number
  // Called by who waits, once, with no lock held, when all that the peer had sent before it went has been polled.
  std::function<void()> cut;
  // Whether its stream's user waits elsewhere for what the caretaker polls.
  bool depends_on_caretaker = false;
};

// Any thread. Lock: mu_, under which nobody else is called.
class LinkRoom {
 public:
  // `caretaker` looks after the link when nobody waits for anything; it outlives this.
  LinkRoom(std::shared_ptr<Link> link, const wait::SpinPolicy& policy, wait::Caretaker* caretaker = nullptr);

  // Until something of this link's brings `ticket`: true. False: the time is up.
  bool Wait(Ticket& ticket, Deadline deadline);
  // The same, after `send`, which is what leads to it. It need not wake a server that is awake: this thread polls from
  // before it until an answer shows that it was seen, or rings.
  bool SendAndWait(absl::FunctionRef<void()> send, Ticket& ticket, Deadline deadline);
  // To whoever waits for `ticket`, if anybody does. Its owner may be gone when this returns.
  void Bring(Ticket& ticket) {
    if (ticket.TakeUp() == Ticket::Claim::kBring && ticket.Bring()) WakeSleeper();
  }
  // Of what was brought: who has the seat, and sleeps.
  void WakeSleeper();
  // Polls what has arrived, unless somebody does.
  void Drain();
  // The same, where anything has arrived. Where a thread waits here, that thread polls; the caretaker's poll is waited
  // for, for 10 ms at most.
  void PollIfLeftAlone();

  // Whether it is known that what is sent by this link gets there.
  bool reached() const { return reached_.load(std::memory_order_relaxed); }
  void set_reached() { reached_.store(true, std::memory_order_relaxed); }

  // For the caretaker.
  wait::Attendance TakeAttendance();
  // To sleep on: what comes by the link, and what becomes of the lifelines.
  int fd() const { return link_->fd(); }
  // True: some have been cut.
  bool LookAtLifelines();

  // Not OK: the kernel refuses to watch the lifeline. Threads that wait here look at it every 10 ms; the caretaker does
  // not.
  absl::Status Add(const std::shared_ptr<Lifeline>& lifeline);
  void Remove(const std::shared_ptr<Lifeline>& lifeline);
  // Of one that was added: sets depends_on_caretaker.
  void DependOnCaretaker(const std::shared_ptr<Lifeline>& lifeline);

 private:
  // By who has the seat.
  void Drive(Ticket& ticket, Deadline deadline, absl::FunctionRef<void()> send);
  absl::Duration Budget();
  bool SpinUntil(Ticket& ticket, Deadline deadline, absl::Duration budget);
  bool SpinUntil(Ticket& ticket, Deadline deadline, wait::Spin& spin);
  void Sleep(Ticket& ticket, Deadline deadline);
  bool LookAtUnwatched();
  bool Cut(int fd);
  void NudgeCaretaker() {
    if (caretaker_ != nullptr) caretaker_->Nudge();
  }
  // By the others.
  void Watch(const Ticket& ticket, Deadline deadline);

  const std::shared_ptr<Link> link_;
  wait::WaitingRoom<WaitAtomics> room_;
  wait::SpinBudget budget_;        // of who has the seat
  wait::SpinBudget watch_budget_;  // of the others
  const bool spins_;                   // its threads do before they sleep
  wait::Caretaker* const caretaker_;
  // Only who has the seat takes a wake-up out of it. Out of the link's descriptor the caretaker may, too. Invalid when
  // the process had no descriptor left: then no thread sleeps for longer than 10 ms.
  const UniqueFd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> reached_ = false;  // relaxed: a fact, once
  // Sequentially consistent: changed, then the caretaker is nudged; it looks at them after it has said that it sleeps.
  std::atomic<bool> asleep_ = false;    // who has the seat
  std::atomic<bool> attended_ = false;  // since the caretaker asked
  std::atomic<int> dependents_ = 0;     // relaxed: of the caretaker; it hears of a new one when something comes

  // The kernel has refused to watch a lifeline. Relaxed: the thread that adds the lifeline wakes the sleeper
  // afterwards.
  std::atomic<bool> unwatched_ = false;

  Mutex mu_;
  std::vector<std::shared_ptr<Lifeline>> lifelines_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_LINK_ROOM_H_
