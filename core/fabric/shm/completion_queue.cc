#include "core/fabric/shm/completion_queue.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/errno_status.h"
#include "core/fabric/shm/queue_pair.h"

namespace skein::fabric::shm {
namespace {

absl::Status Watch(int epoll, int fd) {
  epoll_event event = {};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) return ErrnoStatus(errno, "watch a descriptor");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShmCompletionQueue>> ShmCompletionQueue::Create() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return ErrnoStatus(errno, "create an epoll instance");
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return ErrnoStatus(errno, "create an eventfd");
  if (absl::Status status = Watch(epoll.get(), event.get()); !status.ok()) return status;
  return std::unique_ptr<ShmCompletionQueue>(new ShmCompletionQueue(std::move(epoll), std::move(event)));
}

ShmCompletionQueue::ShmCompletionQueue(UniqueFd epoll, UniqueFd event)
    : epoll_(std::move(epoll)), event_(std::move(event)) {}

size_t ShmCompletionQueue::Poll(absl::Span<Completion> out) {
  absl::MutexLock members(&members_mu_);
  {
    absl::MutexLock lock(&ready_mu_);
    polling_ = true;
  }
  for (ShmQueuePair* member : members_) member->Progress();
  absl::MutexLock lock(&ready_mu_);
  polling_ = false;
  const size_t count = std::min(out.size(), ready_.size());
  for (size_t i = 0; i < count; ++i) {
    out[i] = ready_.front().completion;
    static_cast<ShmQueuePair*>(out[i].queue_pair)->Reaped(ready_.front().sequence);
    ready_.pop_front();
  }
  return count;
}

absl::Status ShmCompletionQueue::Arm() {
  absl::MutexLock members(&members_mu_);
  {
    absl::MutexLock lock(&ready_mu_);
    armed_ = true;
  }
  for (ShmQueuePair* member : members_) member->Arm();
  return absl::OkStatus();
}

void ShmCompletionQueue::AckEvents() {
  absl::MutexLock members(&members_mu_);
  {
    absl::MutexLock lock(&ready_mu_);
    uint64_t count = 0;
    if (std::exchange(signaled_, false) && read(event_.get(), &count, sizeof(count)) < 0) count = 0;  // none to take
  }
  for (ShmQueuePair* member : members_) member->DrainSocket(this);
}

void ShmCompletionQueue::Signal() {
  signaled_ = true;
  const uint64_t one = 1;
  // Only this process has the eventfd, so it cannot be full, and a failure could not be told to anybody.
  if (write(event_.get(), &one, sizeof(one)) < 0) return;
}

void ShmCompletionQueue::SignalIfArmed() {
  if (std::exchange(armed_, false)) Signal();
}

void ShmCompletionQueue::Push(const Completion& completion, uint64_t sequence) {
  absl::MutexLock lock(&ready_mu_);
  ready_.push_back({completion, sequence});
  if (!polling_) SignalIfArmed();
}

void ShmCompletionQueue::Wake() {
  absl::MutexLock lock(&ready_mu_);
  Signal();
}

void ShmCompletionQueue::WakeIfArmed() {
  absl::MutexLock lock(&ready_mu_);
  SignalIfArmed();
}

void ShmCompletionQueue::Attach(ShmQueuePair* queue_pair) {
  absl::MutexLock lock(&members_mu_);
  members_.push_back(queue_pair);
}

void ShmCompletionQueue::Detach(ShmQueuePair* queue_pair) {
  absl::MutexLock members(&members_mu_);
  members_.erase(std::remove(members_.begin(), members_.end(), queue_pair), members_.end());
  absl::MutexLock lock(&ready_mu_);
  ready_.erase(std::remove_if(ready_.begin(), ready_.end(),
                              [&](const Ready& ready) { return ready.completion.queue_pair == queue_pair; }),
               ready_.end());
}

absl::Status ShmCompletionQueue::WatchSocket(int socket) { return Watch(epoll_.get(), socket); }

void ShmCompletionQueue::ForgetSocket(int socket) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr); }

}  // namespace skein::fabric::shm
