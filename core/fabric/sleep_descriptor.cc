#include "core/fabric/sleep_descriptor.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "core/base/empty_pipe.h"
#include "core/base/errno_status.h"

namespace skein::fabric {

absl::Status SleepDescriptor::Open() {
  event_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_.valid()) return ErrnoStatus(errno, "create an eventfd");
  return Begin();
}

absl::Status SleepDescriptor::Open(UniqueFd pipe) {
  event_ = std::move(pipe);
  is_pipe_ = true;
  return Begin();
}

absl::Status SleepDescriptor::Begin() {
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoStatus(errno, "create an epoll instance");
  return Watch(event_.get());
}

absl::Status SleepDescriptor::Watch(int fd) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  MutexLock lock(&mu_);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return ErrnoStatus(errno, "watch a descriptor");
  watched_.push_back(fd);
  WakeStaleLocked();
  return absl::OkStatus();
}

void SleepDescriptor::Forget(int fd) {
  MutexLock lock(&mu_);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  if (std::erase(watched_, fd) > 0) WakeStaleLocked();
}

void SleepDescriptor::WakeStaleLocked() {
  if (sleepers_ == 0) return;
  stale_ = true;
  WakeLocked();
}

void SleepDescriptor::Wake() {
  MutexLock lock(&mu_);
  WakeLocked();
}

void SleepDescriptor::WakeLocked() {
  signaled_ = true;
  const uint64_t one = 1;
  // Only this process has the eventfd, so it cannot be full; a full pipe is readable already. Another failure could not
  // be told to anybody.
  if (write(event_.get(), &one, sizeof(one)) < 0) return;
}

bool SleepDescriptor::Acknowledge() {
  MutexLock lock(&mu_);
  if (stale_) return true;  // a sleeper must see the event first: with its old copy it would sleep on
  return (std::exchange(signaled_, false) || is_pipe_) && EmptyPipe(event_.get());
}

// Whoever changes the list wakes the sleepers, and the next sleep begins with a new copy. What has been forgotten must
// not be waited for any longer: poll(2) keeps a file open that is closed meanwhile, so its peer would not see the end.
CompletionQueue::Woken SleepDescriptor::Sleep(int also, int timeout_ms) {
  absl::InlinedVector<pollfd, kMostWaitedFor + 1> waits = {{also, POLLIN, 0}};
  {
    MutexLock lock(&mu_);
    ++sleepers_;
    if (watched_.size() <= kMostWaitedFor) {
      for (const int fd : watched_) waits.push_back({fd, POLLIN | POLLRDHUP, 0});
    } else {
      waits.push_back({epoll_.get(), POLLIN, 0});
    }
  }
  const int ready = poll(waits.data(), waits.size(), timeout_ms);
  MutexLock lock(&mu_);
  if (--sleepers_ == 0) stale_ = false;
  if (ready <= 0) return {};
  const bool by_also = waits[0].revents != 0;
  return {ready > (by_also ? 1 : 0), by_also};
}

}  // namespace skein::fabric
