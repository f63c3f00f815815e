#include "core/fabric/sleep_descriptor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "core/base/errno_status.h"

namespace skein::fabric {

absl::Status SleepDescriptor::Open() {
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoStatus(errno, "create an epoll instance");
  event_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_.valid()) return ErrnoStatus(errno, "create an eventfd");
  return Watch(event_.get());
}

absl::Status SleepDescriptor::Watch(int fd) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return ErrnoStatus(errno, "watch a descriptor");
  return absl::OkStatus();
}

void SleepDescriptor::Forget(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void SleepDescriptor::Wake() {
  MutexLock lock(&mu_);
  signaled_ = true;
  const uint64_t one = 1;
  // Only this process has the eventfd, so it cannot be full, and a failure could not be told to anybody.
  if (write(event_.get(), &one, sizeof(one)) < 0) return;
}

void SleepDescriptor::Acknowledge() {
  MutexLock lock(&mu_);
  uint64_t count = 0;
  if (std::exchange(signaled_, false) && read(event_.get(), &count, sizeof(count)) < 0) count = 0;  // none to take
}

}  // namespace skein::fabric
