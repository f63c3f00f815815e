#include "grpc_transport/iomgr/waiter.h"

#include <atomic>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/forked.h"
#include "grpc_transport/iomgr/ensure_exec_ctx.h"

namespace skein::grpc_transport {

// A source that is busy, and its descriptor as long as that is the engine's. Lock: mu_, under which closures are
// scheduled.
class Waiter::BusySource final : public wait::Busy {
 public:
  BusySource(std::shared_ptr<wait::Source> source, grpc_fd* fd) : wait::Busy(std::move(source)), fd_(fd) {}

  void Again() override {
    EnsureExecCtx exec_ctx;
    MutexLock lock(&mu_);
    if (fd_ != nullptr) grpc_fd_set_readable(fd_);
  }
  void LetGo() {
    MutexLock lock(&mu_);
    fd_ = nullptr;
  }

 private:
  Mutex mu_;
  grpc_fd* fd_ ABSL_GUARDED_BY(mu_);
};

// One source in the engine. Its closure is either scheduled or waits for the descriptor, never both, and one of them
// until it has stopped: so everything here but `stopping_` belongs to the closure's run.
class Waiter::Watched : public grpc_core::RefCounted<Watched> {
 public:
  Watched(Waiter* waiter, std::shared_ptr<wait::Source> source)
      : waiter_(waiter),
        source_(std::move(source)),
        fd_(grpc_fd_create(source_->fd(), "skein", /*track_err=*/false)),
        busy_(std::make_shared<BusySource>(source_, fd_)) {
    GRPC_CLOSURE_INIT(&run_, Run, this, nullptr);
  }

  void Start() {
    Ref().release();  // the closure's, until it has stopped
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, &run_, absl::OkStatus());
  }
  // The closure runs soon and gives the descriptor back. (Not by grpc_fd_shutdown: after that, epoll1's release would
  // leave the descriptor in its set.)
  void Stop() {
    stopping_.store(true, std::memory_order_release);
    grpc_fd_set_readable(fd_);
  }
  // A user has come meanwhile. An endpoint of that user may have this wait::Busy already, so another one would not do.
  void GoOn() { stopping_.store(false, std::memory_order_relaxed); }
  void ReleaseFd() {
    busy_->LetGo();
    int released = -1;  // stays the source's
    grpc_fd_orphan(fd_, nullptr, &released, "skein");
  }
  const std::shared_ptr<wait::Source>& source() const { return source_; }
  const std::shared_ptr<BusySource>& busy() const { return busy_; }

 private:
  static void Run(void* arg, grpc_error_handle /*error*/) { static_cast<Watched*>(arg)->RunOnce(); }

  void RunOnce() {
    if (InForkedChild()) return;
    if (!stopping_.load(std::memory_order_acquire) && !source_->finished()) {
      // Woken, or the first time. Once: by turns with the callbacks that the poll has made ready.
      if (!waiter_->busy_set_.Attend(busy_, 1)) return grpc_core::ExecCtx::Run(DEBUG_LOCATION, &run_, absl::OkStatus());
      if (!source_->finished()) return grpc_fd_notify_on_read(fd_, &run_);
    }
    if (!waiter_->Stopped(this)) return grpc_core::ExecCtx::Run(DEBUG_LOCATION, &run_, absl::OkStatus());
    Unref();
  }

  Waiter* const waiter_;
  const std::shared_ptr<wait::Source> source_;
  grpc_fd* const fd_;
  const std::shared_ptr<BusySource> busy_;
  grpc_closure run_;
  // Written under the waiter's lock: release by Stop, acquire by the closure; relaxed by GoOn, since a closure that has
  // not seen it asks under that lock (Stopped).
  std::atomic<bool> stopping_{false};
};

Waiter::Waiter(const wait::SpinPolicy& policy) : busy_set_(policy.mode != WaitMode::kBlock) {}
Waiter::~Waiter() = default;

void Waiter::StartLocked(std::shared_ptr<wait::Source> source) {
  watched_.push_back(grpc_core::MakeRefCounted<Watched>(this, std::move(source)));
  watched_.back()->Start();
}

void Waiter::Watch(std::shared_ptr<wait::Source> source) {
  EnsureExecCtx exec_ctx;
  MutexLock lock(&mu_);
  if (users_ == 0) return background_.Add(std::move(source));
  StartLocked(std::move(source));
}

std::shared_ptr<wait::Busy> Waiter::BusyOf(const wait::Source& source) {
  MutexLock lock(&mu_);
  const auto found = absl::c_find_if(watched_, [&](const auto& each) { return each->source().get() == &source; });
  return found == watched_.end() ? nullptr : (*found)->busy();
}

void Waiter::UserComes() {
  if (InForkedChild()) return;
  EnsureExecCtx exec_ctx;
  MutexLock lock(&mu_);
  if (++users_ > 1) return;
  for (const auto& watched : watched_) watched->GoOn();
  for (std::shared_ptr<wait::Source>& source : background_.TakeAll()) StartLocked(std::move(source));
}

void Waiter::UserGoes() {
  if (InForkedChild()) return;
  EnsureExecCtx exec_ctx;
  MutexLock lock(&mu_);
  if (--users_ > 0) return;
  for (const auto& watched : watched_) watched->Stop();
}

bool Waiter::Stopped(Watched* watched) {
  const std::shared_ptr<wait::Source> source = watched->source();  // outlives the lock, as does `watched`
  MutexLock lock(&mu_);
  if (users_ > 0 && !source->finished()) return false;
  busy_set_.Remove(*watched->busy());
  std::erase_if(watched_, [watched](const auto& other) { return other.get() == watched; });
  watched->ReleaseFd();
  // Nobody comes meanwhile: so no new stream meets a link that is being retired.
  if (!source->finished() && !source->Retire()) background_.Add(source);
  return true;
}

}  // namespace skein::grpc_transport
