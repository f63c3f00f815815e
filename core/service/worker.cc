#include "core/service/worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/base/detached.h"
#include "core/base/errno_status.h"

namespace skein::service {

absl::StatusOr<std::unique_ptr<Worker>> Worker::Create(bool has_thread) {
  auto shared = std::make_shared<Shared>();
  shared->done_fd = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!shared->done_fd.valid()) return ErrnoStatus(errno, "create an eventfd");
  return std::unique_ptr<Worker>(new Worker(std::move(shared), has_thread));
}

Worker::~Worker() {
  do {
    WaitUntilIdle();
  } while (Heed());
}

void Worker::Do(Work work) {
  if (has_thread_) {
    MutexLock lock(&shared_->mu);
    if (!shared_->runs) shared_->runs = StartDetached("skeind-worker", [shared = shared_] { shared->Run(); });
    if (shared_->runs) return shared_->waiting.push_back(std::move(work));
  }
  shared_->Did(work());
}

bool Worker::Heed() {
  uint64_t count = 0;
  if (read(fd(), &count, sizeof(count)) < 0) return false;  // nothing was done since
  std::deque<Then> done;
  {
    MutexLock lock(&shared_->mu);
    done.swap(shared_->done);
  }
  for (Then& then : done) then();
  return true;
}

void Worker::WaitUntilIdle() {
  MutexLock lock(&shared_->mu);
  Lockable locked{shared_->mu};
  shared_->idle.wait(locked, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mu) { return !shared_->runs; });
}

void Worker::Shared::Run() {
  for (;;) {
    Work next;
    {
      MutexLock lock(&mu);
      if (waiting.empty()) {
        runs = false;
        return idle.notify_all();
      }
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    Did(next());
  }
}

void Worker::Shared::Did(Then then) {
  MutexLock lock(&mu);
  done.push_back(std::move(then));
  const uint64_t one = 1;
  (void)!write(done_fd.get(), &one, sizeof(one));  // full: Heed is due already
}

}  // namespace skein::service
