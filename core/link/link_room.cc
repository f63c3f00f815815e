#include "core/link/link_room.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "core/wait/pace.h"
#include "core/wait/turn.h"

namespace skein::link {
namespace {

timespec Until(Deadline deadline) {
  const auto since = deadline.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {static_cast<time_t>(seconds.count()),
          static_cast<long>(std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds).count())};
}

}  // namespace

void WaitAtomics::Park(const std::atomic<uint32_t>& word, uint32_t value, Deadline deadline) {
  if (deadline == Deadline::max()) return SystemAtomics::Park(word, value);
  // An absolute time of the monotonic clock, which is steady_clock's.
  const timespec until = Until(deadline);
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

LinkRoom::LinkRoom(std::shared_ptr<Link> link, const wait::SpinPolicy& policy, wait::Caretaker* caretaker)
    : link_(std::move(link)),
      budget_(policy),
      watch_budget_(policy),
      spins_(policy.mode != WaitMode::kBlock),
      caretaker_(caretaker) {
  // A caretaker sleeps.
  if (policy.mode == WaitMode::kPoll && caretaker == nullptr) link_->Tell(Presence::kSleepless);
}

bool LinkRoom::Wait(Ticket& ticket, Deadline deadline) {
  if (spins_ && !ticket.done()) wait::LetOthersRun();  // before it takes the seat, which they may want
  return room_.Wait(
      ticket, deadline, [&] { Drive(ticket, deadline, [] {}); }, [&] { Watch(ticket, deadline); });
}

bool LinkRoom::SendAndWait(absl::FunctionRef<void()> send, Ticket& ticket, Deadline deadline) {
  if (!room_.TrySit()) {
    send();
    return Wait(ticket, deadline);
  }
  Drive(ticket, deadline, send);
  room_.GetUp();
  return ticket.done();
}

void LinkRoom::Drive(Ticket& ticket, Deadline deadline, absl::FunctionRef<void()> send) {
  bool sent = false;
  attended_.store(true, std::memory_order_seq_cst);
  NudgeCaretaker();
  do {
    const absl::Duration budget = Budget();
    if (budget > absl::ZeroDuration()) link_->BeginQuiet();
    if (!std::exchange(sent, true)) send();
    // Sleep polls, when it has armed the link and when it has woken: to poll before that, too, tells it nothing new.
    const bool sleeps = budget == absl::ZeroDuration() && !WaitAtomics::Over(deadline);
    const bool came = !sleeps && SpinUntil(ticket, deadline, budget);
    // Before others may have the seat, and before this thread sleeps.
    link_->EndQuiet();
    if (sleeps || (!came && !WaitAtomics::Over(deadline))) Sleep(ticket, deadline);
  } while (!ticket.done() && !WaitAtomics::Over(deadline));
  attended_.store(true, std::memory_order_relaxed);
}

absl::Duration LinkRoom::Budget() {
  // Where time is simulated, nobody sleeps.
  if (link_->fd() < 0) return absl::InfiniteDuration();
  return wait::BeginSpin(budget_);
}

// Polls once at least. True: the ticket is done.
bool LinkRoom::SpinUntil(Ticket& ticket, Deadline deadline, absl::Duration budget) {
  link_->Poll();
  if (budget == absl::ZeroDuration()) return ticket.done();
  wait::Spin spin(budget, wait::kYieldAfter);
  const bool came = SpinUntil(ticket, deadline, spin);
  budget_.Ended(came && spin.Paid());
  return came;
}

bool LinkRoom::SpinUntil(Ticket& ticket, Deadline deadline, wait::Spin& spin) {
  if (ticket.done()) return true;
  Deadline look = spin.now() + wait::kLook;
  for (int turn = 1;; ++turn) {
    if (turn % wait::kThorough == 0 || link_->Glance()) link_->Poll();
    if (ticket.done()) return true;
    if (turn % wait::kSeldom != 0) continue;
    if (!spin.Pass() || spin.now() >= deadline) return false;
    if (spin.now() < look) continue;
    look = spin.now() + wait::kLook;
    // The server may have found no room to say that it sleeps.
    link_->EndQuiet();
    link_->BeginQuiet();
    LookAtLifelines();
  }
}

void LinkRoom::Sleep(Ticket& ticket, Deadline deadline) {
  if (!room_.BeginSleep(ticket)) return;
  fabric::CompletionQueue::Woken woken;
  // The caretaker may take the wake-up out of the link's descriptor, and no descriptor tells of an unwatched lifeline.
  const bool told_of_all = wake_.valid() && !unwatched_.load(std::memory_order_relaxed);
  const Deadline until = told_of_all ? deadline : std::min(deadline, Clock::now() + wait::kUnwatched);
  if (link_->Arm() && !link_->finished()) {
    asleep_.store(true, std::memory_order_seq_cst);
    woken = link_->Sleep(wake_.get(), TimeoutOf(until));
    eventfd_t ignored = 0;
    if (woken.by_also) eventfd_read(wake_.get(), &ignored);
    asleep_.store(false, std::memory_order_seq_cst);
    NudgeCaretaker();
  }
  room_.EndSleep(ticket);
  link_->Poll();
  // What it waits for is what has woken it most often.
  if ((woken.by_queue || !told_of_all) && !ticket.done()) LookAtLifelines();
}

bool LinkRoom::LookAtLifelines() {
  std::array<epoll_event, 16> events;
  const int ready = epoll_wait(fd(), events.data(), events.size(), 0);
  bool any = unwatched_.load(std::memory_order_relaxed) && LookAtUnwatched();
  for (int i = 0; i < ready; ++i) any |= Cut(events[i].data.fd);
  return any;
}

// Looks at all of them: nobody has noted which ones the kernel refused.
bool LinkRoom::LookAtUnwatched() {
  std::vector<int> fds;
  {
    MutexLock lock(&mu_);
    for (const auto& lifeline : lifelines_) fds.push_back(lifeline->fd);
  }
  bool any = false;
  for (const int fd : fds) any |= Cut(fd);
  return any;
}

// False: it is no lifeline's, or has become another one's since the event was taken: nothing is to be heard of that.
bool LinkRoom::Cut(int fd) {
  std::shared_ptr<Lifeline> lifeline;
  {
    MutexLock lock(&mu_);
    const auto found = absl::c_find_if(lifelines_, [fd](const auto& line) { return line->fd == fd; });
    // Open, and this lifeline's: it is removed, under the lock, before it is closed.
    pollfd heard = {fd, POLLIN | POLLRDHUP, 0};
    if (found == lifelines_.end() || poll(&heard, 1, 0) <= 0) return false;
    lifeline = *found;
  }
  Remove(lifeline);
  Drain();
  lifeline->cut();
  return true;
}

// While another thread has the seat. To sleep and be woken costs more than a short wait.
void LinkRoom::Watch(const Ticket& ticket, Deadline deadline) {
  const absl::Duration budget = wait::BeginSpin(watch_budget_);
  if (budget == absl::ZeroDuration()) return;
  wait::Spin spin(budget, std::chrono::microseconds::zero());
  for (int turn = 1; !ticket.done() && room_.seat_taken(); ++turn) {
    if (turn % wait::kSeldom != 0) continue;
    if (!spin.Pass() || spin.now() >= deadline) return watch_budget_.Ended(false);
  }
  watch_budget_.Ended(spin.Paid());
}

void LinkRoom::WakeSleeper() { wake_.valid() ? void(eventfd_write(wake_.get(), 1)) : link_->WakeSleeper(); }

wait::Attendance LinkRoom::TakeAttendance() {
  if (asleep_.load(std::memory_order_seq_cst)) return wait::Attendance::kAsleep;
  const bool attended = attended_.exchange(false, std::memory_order_seq_cst);
  // Whoever polls awake does not say when it stops: a user who sleeps elsewhere would wait for the caretaker's next
  // look.
  if (dependents_.load(std::memory_order_relaxed) > 0) return wait::Attendance::kCaretaker;
  return attended || room_.seat_taken() ? wait::Attendance::kAwake : wait::Attendance::kNobody;
}

void LinkRoom::Drain() {
  while (!link_->Drain()) sched_yield();
}

// Draining arms the link again: the poll may have acknowledged what another thread sleeps for.
void LinkRoom::PollIfLeftAlone() {
  if (room_.seat_taken()) return;
  // What the caretaker takes out just now is this thread's to hear of, too.
  if (link_->polled()) {
    const Deadline end = Clock::now() + wait::kUnwatched;
    while (link_->polled() && Clock::now() < end) sched_yield();
  }
  if (link_->Glance()) link_->Drain();
}

absl::Status LinkRoom::Add(const std::shared_ptr<Lifeline>& lifeline) {
  MutexLock lock(&mu_);
  lifelines_.push_back(lifeline);
  if (lifeline->depends_on_caretaker) dependents_.fetch_add(1, std::memory_order_relaxed);
  absl::Status watched = link_->Watch(lifeline->fd);
  if (!watched.ok()) {
    unwatched_.store(true, std::memory_order_relaxed);
    WakeSleeper();  // that thread sleeps without a time limit
  }
  return watched;
}

void LinkRoom::Remove(const std::shared_ptr<Lifeline>& lifeline) {
  MutexLock lock(&mu_);
  if (std::erase(lifelines_, lifeline) == 0) return;
  link_->Forget(lifeline->fd);
  if (lifeline->depends_on_caretaker) dependents_.fetch_sub(1, std::memory_order_relaxed);
}

void LinkRoom::DependOnCaretaker(const std::shared_ptr<Lifeline>& lifeline) {
  MutexLock lock(&mu_);
  if (!absl::c_linear_search(lifelines_, lifeline) || std::exchange(lifeline->depends_on_caretaker, true)) return;
  dependents_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace skein::link
