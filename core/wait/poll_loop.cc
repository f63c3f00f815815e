#include "core/wait/poll_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "absl/memory/memory.h"
#include "core/base/errno_status.h"
#include "core/wait/spin.h"

namespace skein::wait {
namespace {

// How epoll names the descriptors of sources, and Wake's: nobody is told of these.
constexpr int kOfSource = -1;
constexpr int kOfWake = -2;

}  // namespace

absl::StatusOr<std::unique_ptr<PollLoop>> PollLoop::Create(const SpinPolicy& policy) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll.valid() || !wake.valid()) return ErrnoStatus(errno, "make the descriptors that a thread waits with");
  auto loop = absl::WrapUnique(new PollLoop(std::move(epoll), std::move(wake), policy));
  if (absl::Status added = loop->Add(loop->wake_.get(), kOfWake); !added.ok()) return added;
  return loop;
}

void PollLoop::Watch(std::shared_ptr<Source> source) {
  {
    const MutexLock lock(&mu_);
    new_.push_back(std::move(source));
  }
  Wake();
}

void PollLoop::Wake() {
  woken_.store(true, std::memory_order_release);
  eventfd_write(wake_.get(), 1);
}

absl::Status PollLoop::Add(int fd, int named) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = named;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "watch a descriptor");
}

absl::Status PollLoop::WatchFd(int fd) { return Add(fd, fd); }

void PollLoop::ForgetFd(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void PollLoop::TakeNew() {
  std::vector<std::shared_ptr<Source>> arrived;
  {
    const MutexLock lock(&mu_);
    arrived.swap(new_);
  }
  for (auto& source : arrived) {
    if (source->fd() >= 0 && !Add(source->fd(), kOfSource).ok()) refused_.push_back(source);
    sources_.push_back(std::move(source));
  }
}

bool PollLoop::PollAll(bool thoroughly) {
  const bool woken = woken_.load(std::memory_order_relaxed) && woken_.exchange(false, std::memory_order_acquire);
  if (woken) TakeNew();
  bool any = false;
  for (size_t i = 0; i < sources_.size(); ++i) any |= (thoroughly || sources_[i]->Glance()) && sources_[i]->Poll();
  // Also those that another thread has found finished.
  if (any || thoroughly) any |= DropFinished();
  return any || woken;
}

// The descriptor of a finished source stays readable, and another owner may keep it open: epoll would wake this thread
// for ever.
bool PollLoop::DropFinished() {
  const size_t dropped = std::erase_if(sources_, [this](const auto& source) {
    if (!source->finished()) return false;
    ForgetFd(source->fd());
    return true;
  });
  finished_ |= dropped > 0;
  return dropped > 0;
}

absl::Duration PollLoop::BeginSpin() {
  const auto never_sleeps = [](const auto& source) { return source->fd() < 0; };
  if (std::any_of(sources_.begin(), sources_.end(), never_sleeps)) return absl::InfiniteDuration();
  const absl::Duration budget = wait::BeginSpin(budget_);
  return sources_.empty() && budget < absl::InfiniteDuration() ? absl::ZeroDuration() : budget;
}

bool PollLoop::Spin(absl::Duration budget, Deadline deadline, Readable readable) {
  if (budget == absl::ZeroDuration()) {
    const bool any = PollAll(/*thoroughly=*/true);
    if (any) LookNowAndThen(Clock::now(), readable);
    return any;
  }
  wait::Spin spin(budget_, budget, Manner::kPolls);
  bool told = false;
  const auto found = [&](bool thoroughly) { return PollAll(thoroughly) || told; };
  const Spun spun = spin.Until(found, [&] {
    told |= LookNowAndThen(spin.now(), readable);
    return spin.now() < deadline ? Spun::kGoesOn : Spun::kCalledAway;
  });
  told |= LookNowAndThen(spin.now(), readable);
  return spun != Spun::kInVain || told;
}

// At the descriptors, however many messages come.
bool PollLoop::LookNowAndThen(Deadline now, Readable readable) {
  if (now < next_look_) return false;
  next_look_ = now + kLook;
  return Look(0, readable);
}

void PollLoop::Sleep(Deadline deadline, Readable readable) {
  if (!std::all_of(sources_.begin(), sources_.end(), [](const auto& source) { return source->Arm(); })) return;
  // The spin's last look at the descriptors may have taken Wake's note out after the last poll.
  if (woken_.load(std::memory_order_acquire)) return;
  if (!refused_.empty()) deadline = std::min(deadline, Clock::now() + kUnwatched);
  Look(TimeoutOf(deadline), readable);
}

void PollLoop::Turn(Deadline deadline, Readable readable) {
  if (!Spin(BeginSpin(), deadline, readable)) Sleep(deadline, readable);
}

bool PollLoop::Look(int timeout_ms, Readable readable) {
  epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, std::size(events), timeout_ms);
  bool told = false;
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == kOfWake) {
      eventfd_t wakes = 0;
      eventfd_read(wake_.get(), &wakes);
    } else if (fd != kOfSource) {
      readable(fd);
      told = true;
    }
  }
  if (!refused_.empty()) WatchRefused();
  return told;
}

// Nothing tells when the kernel would agree.
void PollLoop::WatchRefused() {
  std::erase_if(refused_, [this](const std::weak_ptr<Source>& each) {
    const std::shared_ptr<Source> source = each.lock();
    return source == nullptr || source->finished() || Add(source->fd(), kOfSource).ok();
  });
}

// A link and what is on it keep each other until it is finished.
void PollLoop::CloseAll() {
  TakeNew();
  for (const auto& source : sources_) {
    source->Poll();
    if (auto* shared = dynamic_cast<SharedSource*>(source.get())) shared->Close();
    source->Poll();
  }
  sources_.clear();
}

}  // namespace skein::wait
