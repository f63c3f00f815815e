#include "grpc_transport/event_engine/link_poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <utility>

#include "core/base/deadline.h"
#include "core/base/detached.h"
#include "core/base/forked.h"
#include "core/wait/spin.h"
#include "core/wait/turn.h"

namespace skein::grpc_transport {
namespace {

constexpr int kThreads = 2;
constexpr int kEvents = 16;  // that one thread takes at once

// Edge-triggered: a thread that is woken polls until it can arm, or has a thread come again.
bool AddTo(int epoll, int fd, const void* key) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = const_cast<void*>(key);
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

// One source, and its place in the busy set.
class LinkPoller::Watched final : public wait::Busy {
 public:
  Watched(LinkPoller* poller, std::shared_ptr<wait::Source> source)
      : wait::Busy(source), poller_(poller), shared_(std::move(source)) {}
  void Again() override { poller_->Again(&source()); }
  const std::shared_ptr<wait::Source>& shared_source() const { return shared_; }

 private:
  LinkPoller* const poller_;
  const std::shared_ptr<wait::Source> shared_;
};

LinkPoller::LinkPoller(const wait::SpinPolicy& policy)
    : busy_set_(policy.mode != WaitMode::kBlock),
      budget_(policy),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      can_sleep_(AddTo(epoll_.get(), wake_.get(), nullptr)) {}

// Users and sources.

void LinkPoller::WatchLocked(std::shared_ptr<wait::Source> source) {
  const wait::Source* const key = source.get();
  // A child made by fork() has a copy of each descriptor, so the kernel would not forget one that is only closed here.
  // Where the kernel refuses to watch it, a background thread does, which asks for less. So it does where this poller
  // has no descriptors: its threads could not sleep.
  if (!can_sleep_ || (key->fd() >= 0 && !AddTo(epoll_.get(), key->fd(), key)))
    return background_.Add(std::move(source));
  watched_[key] = std::make_shared<Watched>(this, std::move(source));
  again_.push_back(key);
}

void LinkPoller::Watch(std::shared_ptr<wait::Source> source) {
  if (InForkedChild()) return;
  BeginUse();
  {
    MutexLock lock(&mu_);
    if (users_ == 0) return background_.Add(std::move(source));
    WatchLocked(std::move(source));
    if (threads_ == 0) StartThreadLocked();
  }
  eventfd_write(wake_.get(), 1);
}

void LinkPoller::Again(const wait::Source* source) {
  {
    MutexLock lock(&mu_);
    again_.push_back(source);
  }
  eventfd_write(wake_.get(), 1);
}

std::shared_ptr<wait::Busy> LinkPoller::BusyOf(const wait::Source& source) {
  if (InForkedChild()) return nullptr;
  MutexLock lock(&mu_);
  const auto found = watched_.find(&source);
  return found == watched_.end() ? nullptr : found->second;
}

void LinkPoller::UserComes() {
  if (InForkedChild()) return;
  BeginUse();
  {
    MutexLock lock(&mu_);
    if (++users_ == 1) {
      for (std::shared_ptr<wait::Source>& source : background_.TakeAll()) WatchLocked(std::move(source));
    }
    // Each user tries again, for there may have been no thread to be had.
    if (watched_.empty() || (threads_ > 0 && users_ > 1)) return;
    if (threads_ == 0) StartThreadLocked();
  }
  eventfd_write(wake_.get(), 1);
}

// Not here: the user may go inside a poll of the source, or under a lock of its owner's.
void LinkPoller::UserGoes() {
  if (InForkedChild()) return;
  {
    MutexLock lock(&mu_);
    if (--users_ > 0 || watched_.empty()) return;
  }
  eventfd_write(wake_.get(), 1);
}

void LinkPoller::StopIdle() {
  std::vector<std::shared_ptr<Watched>> stopped;  // outlive the lock
  MutexLock lock(&mu_);
  if (users_ > 0) return;
  for (const auto& [key, watched] : watched_) stopped.push_back(watched);
  for (const std::shared_ptr<Watched>& watched : stopped) {
    Forget(watched);
    // Nobody comes meanwhile: so no new stream meets a link that is being retired.
    if (!watched->source().finished() && !watched->source().Retire()) background_.Add(watched->shared_source());
  }
}

void LinkPoller::Forget(const std::shared_ptr<Watched>& watched) {
  const wait::Source& source = watched->source();
  busy_set_.Remove(*watched);
  if (source.fd() >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, source.fd(), nullptr);
  watched_.erase(&source);
}

// Threads.

bool LinkPoller::StartThreadLocked() {
  if (!can_sleep_) return false;
  looking_.fetch_add(1, std::memory_order_relaxed);
  ++threads_;
  if (StartDetached("skein-poller", [this] { Run(); })) return true;
  --threads_;
  looking_.fetch_sub(1, std::memory_order_relaxed);
  return false;  // the next Watch tries again, or the next callback
}

void LinkPoller::Run() {
  Ready ready(Ready::Thread::kPoller);
  for (;;) {
    wait::LetOthersRun();
    if (BeginSleep(ready)) SleepAndAttend();
    RunReady(ready);
  }
}

bool LinkPoller::BeginSleep(const Ready& ready) {
  if (busy_set_.SleepUnlessBusy()) return true;
  wait::BusySet::Poller polls(busy_set_);
  if (SpinUntilReady(ready, polls)) {
    polls.End();
    return false;
  }
  polls.EndAsleep();
  if (ready.empty()) return true;
  busy_set_.EndSleep();  // arming has found something
  return false;
}

bool LinkPoller::SpinUntilReady(const Ready& ready, wait::BusySet::Poller& polls) {
  const auto callers_poll = [this] { return callers_.load(std::memory_order_relaxed) > 0; };
  if (callers_poll() || spins_.exchange(true, std::memory_order_relaxed)) return false;
  const absl::Duration budget = wait::BeginSpin(budget_);
  bool found = false;
  if (budget > absl::ZeroDuration()) {
    wait::Spin spin(budget_, budget, wait::Manner::kServes);
    const auto look = [&](bool thorough) {
      polls.Poll(thorough);
      return !ready.empty();
    };
    // In mode poll it is the other thread that waits for descriptors.
    const auto alone = [&] {
      return budget == absl::InfiniteDuration() && looking_.load(std::memory_order_relaxed) < kThreads;
    };
    found = spin.Until(look, [&] {
      return callers_poll() || busy_set_.empty() || alone() ? wait::Spun::kInVain : wait::Spun::kGoesOn;
    }) == wait::Spun::kFound;
  }
  spins_.store(false, std::memory_order_relaxed);
  return found;
}

void LinkPoller::SleepAndAttend() {
  std::array<epoll_event, kEvents> events;
  const int came = epoll_wait(epoll_.get(), events.data(), kEvents, -1);
  busy_set_.EndSleep();
  for (int i = 0; i < came; ++i) {
    const void* const key = events[i].data.ptr;
    key == nullptr ? AttendWoken() : Attend(static_cast<const wait::Source*>(key));
  }
}

void LinkPoller::AttendWoken() {
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
  std::vector<const wait::Source*> again;
  {
    MutexLock lock(&mu_);
    again.swap(again_);
  }
  for (const wait::Source* source : again) Attend(source);
  StopIdle();
}

// Both threads may attend one source at once, and others may poll it: then it is armed more often than it need be.
// Each thread that polls it arms it, or leaves that to the spinners, of which the last one does.
void LinkPoller::Attend(const wait::Source* key) {
  std::shared_ptr<Watched> watched;
  {
    MutexLock lock(&mu_);
    const auto found = watched_.find(key);
    if (found == watched_.end()) return;
    watched = found->second;
  }
  const bool done = busy_set_.Attend(watched, wait::BusySet::kTimes);
  if (watched->source().finished()) {
    MutexLock lock(&mu_);
    if (watched_.contains(key)) Forget(watched);
  } else if (!done) {
    watched->Again();  // by turns with what has become ready
  }
}

bool LinkPoller::LeaveToOther() {
  if (looking_.fetch_sub(1, std::memory_order_acq_rel) > 1) return true;
  {
    MutexLock lock(&mu_);
    if (threads_ < kThreads && StartThreadLocked()) return true;
  }
  looking_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void LinkPoller::RunReady(Ready& ready) {
  if (ready.empty()) return;
  if (LeaveToOther()) {
    ready.RunHere();
    looking_.fetch_add(1, std::memory_order_relaxed);
  } else {
    ready.RunElsewhere();
  }
  TellNews();
  if (on_news_) on_news_();
}

void LinkPoller::TellNews() { news_.fetch_add(1, std::memory_order_relaxed); }

}  // namespace skein::grpc_transport
