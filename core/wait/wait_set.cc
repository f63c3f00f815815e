#include "core/wait/wait_set.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/wait/turn.h"

namespace skein::wait {
namespace {

timespec Until(Deadline deadline) {
  const auto since = deadline.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {static_cast<time_t>(seconds.count()),
          static_cast<long>(std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds).count())};
}

}  // namespace

void WaiterAtomics::Park(const std::atomic<uint32_t>& word, uint32_t value, Deadline deadline) {
  if (deadline == Deadline::max()) return SystemAtomics::Park(word, value);
  // An absolute time of the monotonic clock, which is steady_clock's.
  const timespec until = Until(deadline);
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

WaitSet::WaitSet(std::shared_ptr<SharedSource> source, const SpinPolicy& policy, BackgroundPoller* background)
    : source_(std::move(source)),
      budget_(policy),
      watch_budget_(policy),
      spins_(policy.mode != WaitMode::kBlock),
      background_(background) {
  // The background thread sleeps.
  if (policy.mode == WaitMode::kPoll && background == nullptr) source_->NeverSleeps();
}

bool WaitSet::Wait(Waiter& waiter, Deadline deadline) {
  if (spins_ && !waiter.done()) LetOthersRun();  // before it takes the role, which they may want
  return role_.Wait(
      waiter, deadline, [&] { Drive(waiter, deadline, [] {}); }, [&] { WatchWaiter(waiter, deadline); });
}

bool WaitSet::SendAndWait(absl::FunctionRef<void()> send, Waiter& waiter, Deadline deadline) {
  if (!role_.TryTake()) {
    send();
    return Wait(waiter, deadline);
  }
  Drive(waiter, deadline, send);
  role_.Leave();
  return waiter.done();
}

bool WaitSet::Poll() {
  Wakes wakes;
  return source_->Poll();
}

void WaitSet::Drive(Waiter& waiter, Deadline deadline, absl::FunctionRef<void()> send) {
  bool sent = false;
  attended_.store(true, std::memory_order_seq_cst);
  NudgeBackground();
  do {
    const absl::Duration budget = Budget();
    if (budget > absl::ZeroDuration()) source_->BeginQuiet();
    if (!std::exchange(sent, true)) send();
    // Sleep polls, when it has armed the source and when it has woken: to poll before that, too, tells it nothing new.
    const bool sleeps = budget == absl::ZeroDuration() && !WaiterAtomics::Over(deadline);
    const bool came = !sleeps && SpinUntil(waiter, deadline, budget);
    // Before others may have the role, and before this thread sleeps.
    source_->EndQuiet();
    if (sleeps || (!came && !WaiterAtomics::Over(deadline))) Sleep(waiter, deadline);
  } while (!waiter.done() && !WaiterAtomics::Over(deadline));
  attended_.store(true, std::memory_order_relaxed);
}

absl::Duration WaitSet::Budget() {
  // Where time is simulated, nobody sleeps.
  if (source_->fd() < 0) return absl::InfiniteDuration();
  return BeginSpin(budget_);
}

// Polls once at least. True: the waiter is done.
bool WaitSet::SpinUntil(Waiter& waiter, Deadline deadline, absl::Duration budget) {
  if (budget == absl::ZeroDuration()) {
    Poll();
    return waiter.done();
  }
  Spin spin(budget_, budget, Manner::kPolls);
  Deadline look = spin.now() + kLook;
  const auto found = [&](bool thorough) {
    if (thorough || source_->Glance()) Poll();
    return waiter.done();
  };
  const auto seldom = [&] {
    if (spin.now() >= deadline) return Spun::kInVain;
    if (spin.now() < look) return Spun::kGoesOn;
    look = spin.now() + kLook;
    // The server may have found no free space to say that it sleeps.
    source_->EndQuiet();
    source_->BeginQuiet();
    LookAtConnections();
    return Spun::kGoesOn;
  };
  return spin.Until(found, seldom) == Spun::kFound;
}

void WaitSet::Sleep(Waiter& waiter, Deadline deadline) {
  if (!role_.BeginSleep(waiter)) return;
  fabric::CompletionQueue::Woken woken;
  // The background thread may take the wake-up out of the source's descriptor, and no descriptor tells of an unwatched
  // connection.
  const bool told_of_all = wake_.valid() && !unwatched_.load(std::memory_order_relaxed);
  const Deadline until = told_of_all ? deadline : std::min(deadline, Clock::now() + kUnwatched);
  if (source_->Arm() && !source_->finished()) {
    asleep_.store(true, std::memory_order_seq_cst);
    woken = source_->Sleep(wake_.get(), TimeoutOf(until));
    eventfd_t ignored = 0;
    if (woken.by_also) eventfd_read(wake_.get(), &ignored);
    asleep_.store(false, std::memory_order_seq_cst);
    NudgeBackground();
  }
  role_.EndSleep(waiter);
  Poll();
  // Mostly its waiter is done.
  if ((woken.by_queue || !told_of_all) && !waiter.done()) LookAtConnections();
}

bool WaitSet::LookAtConnections() {
  std::array<epoll_event, 16> events;
  const int ready = epoll_wait(fd(), events.data(), events.size(), 0);
  bool any = unwatched_.load(std::memory_order_relaxed) && LookAtUnwatched();
  for (int i = 0; i < ready; ++i) any |= EndIfOver(events[i].data.fd);
  return any;
}

// Looks at all of them: nobody has noted which ones the kernel refused.
bool WaitSet::LookAtUnwatched() {
  std::vector<int> fds;
  {
    MutexLock lock(&mu_);
    for (const auto& connection : connections_) fds.push_back(connection->fd);
  }
  bool any = false;
  for (const int fd : fds) any |= EndIfOver(fd);
  return any;
}

// False: a stale event. The descriptor has been closed since, or is another connection's now.
bool WaitSet::EndIfOver(int fd) {
  std::shared_ptr<NegotiationConnection> connection;
  {
    MutexLock lock(&mu_);
    const auto found = absl::c_find_if(connections_, [fd](const auto& each) { return each->fd == fd; });
    // Open, and this connection's: it is removed, under the lock, before it is closed.
    pollfd heard = {fd, POLLIN | POLLRDHUP, 0};
    if (found == connections_.end() || poll(&heard, 1, 0) <= 0) return false;
    connection = *found;
  }
  if (!Remove(connection)) return false;  // another thread has seen its end, too, and tells of it
  Drain();
  connection->on_end();
  return true;
}

// While another thread has the role. To sleep and be woken costs more than a short wait.
void WaitSet::WatchWaiter(const Waiter& waiter, Deadline deadline) {
  const absl::Duration budget = BeginSpin(watch_budget_);
  if (budget == absl::ZeroDuration()) return;
  Spin spin(watch_budget_, budget, Manner::kWatches);
  spin.Until([&](bool) { return waiter.done() || !role_.taken(); },
             [&] { return spin.now() >= deadline ? Spun::kInVain : Spun::kGoesOn; });
}

void WaitSet::WakeSleeper() { wake_.valid() ? void(eventfd_write(wake_.get(), 1)) : source_->WakeSleeper(); }

Attendance WaitSet::TakeAttendance() {
  if (asleep_.load(std::memory_order_seq_cst)) return Attendance::kAsleep;
  const bool attended = attended_.exchange(false, std::memory_order_seq_cst);
  // A thread that polls awake does not say when it stops: a user who sleeps elsewhere would wait for the background
  // thread's next look.
  if (dependents_.load(std::memory_order_relaxed) > 0) return Attendance::kBackground;
  return attended || role_.taken() ? Attendance::kAwake : Attendance::kNone;
}

bool WaitSet::TryDrain() {
  Wakes wakes;
  return source_->Drain();
}

void WaitSet::Drain() {
  while (!TryDrain()) sched_yield();
}

// Draining arms the source again: the poll may have acknowledged what another thread sleeps for.
void WaitSet::PollIfLeftAlone() {
  if (role_.taken()) return;
  // What the background thread takes out just now is this thread's to hear of, too.
  if (source_->polled()) {
    const Deadline end = Clock::now() + kUnwatched;
    while (source_->polled() && Clock::now() < end) sched_yield();
  }
  if (source_->Glance()) TryDrain();
}

absl::Status WaitSet::Add(const std::shared_ptr<NegotiationConnection>& connection) {
  MutexLock lock(&mu_);
  connections_.push_back(connection);
  if (connection->depends_on_background) dependents_.fetch_add(1, std::memory_order_relaxed);
  absl::Status watched = source_->Watch(connection->fd);
  if (!watched.ok()) {
    unwatched_.store(true, std::memory_order_relaxed);
    WakeSleeper();  // that thread sleeps without a time limit
  }
  return watched;
}

bool WaitSet::Remove(const std::shared_ptr<NegotiationConnection>& connection) {
  MutexLock lock(&mu_);
  if (std::erase(connections_, connection) == 0) return false;
  source_->Forget(connection->fd);
  if (connection->depends_on_background) dependents_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void WaitSet::DependOnBackground(const std::shared_ptr<NegotiationConnection>& connection) {
  MutexLock lock(&mu_);
  if (!absl::c_linear_search(connections_, connection) || std::exchange(connection->depends_on_background, true))
    return;
  dependents_.fetch_add(1, std::memory_order_relaxed);
}

void WaitSet::End() {
  source_->Close();
  source_->Arm();
  while (Poll()) {
  }
}

}  // namespace skein::wait
