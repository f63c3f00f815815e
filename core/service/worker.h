// A thread for what takes the kernel long: it pins each page of memory that is registered, and has the device make
// queue pairs. skeind's thread goes on with messages meanwhile, and does what is to be done with the result.
#ifndef SKEIN_CORE_SERVICE_WORKER_H_
#define SKEIN_CORE_SERVICE_WORKER_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"

namespace skein::service {

// skeind's thread calls the methods. The worker's thread begins with the first work, and ends when none waits; it and
// skeind's thread share `Shared` alone, under its lock, which is a leaf.
class Worker {
 public:
  using Then = absl::AnyInvocable<void()>;  // what skeind's thread does with the result
  using Work = absl::AnyInvocable<Then()>;  // what the worker's thread does

  // `has_thread` false: it works at once, in skeind's thread.
  static absl::StatusOr<std::unique_ptr<Worker>> Create(bool has_thread = true);
  // Does all that waits, and all that this leads to.
  ~Worker();

  // One after the other, in order. Where the kernel gives no thread, at once, in this one.
  void Do(Work work);
  // Readable: Heed has something to do.
  int fd() const { return shared_->done_fd.get(); }
  // Does what is to be done with what has been done. False: nothing.
  bool Heed();

 private:
  struct Shared {
    UniqueFd done_fd;  // an eventfd
    Mutex mu;
    std::condition_variable_any idle;
    std::deque<Work> waiting ABSL_GUARDED_BY(mu);
    std::deque<Then> done ABSL_GUARDED_BY(mu);
    bool runs ABSL_GUARDED_BY(mu) = false;

    void Run();
    void Did(Then then);
  };
  Worker(std::shared_ptr<Shared> shared, bool has_thread) : shared_(std::move(shared)), has_thread_(has_thread) {}
  void WaitUntilIdle();

  const std::shared_ptr<Shared> shared_;
  const bool has_thread_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_WORKER_H_
