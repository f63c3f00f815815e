#include "grpc_transport/iomgr/lookout.h"

#include <utility>

#include "grpc_transport/iomgr/polling_engine.h"

namespace skein::grpc_transport {

Lookout::Lookout() {
  GRPC_CLOSURE_INIT(&on_timer_, OnTimer, this, nullptr);
  MutexLock lock(&mu_);
  SetTimer();
}

void Lookout::SetTimer() {
  Ref().release();
  grpc_timer_init(&timer_, grpc_core::Timestamp::Now() + next_, &on_timer_);
  next_ = next_ * 2;
}

void Lookout::OnTimer(void* arg, grpc_error_handle error) {
  const grpc_core::RefCountedPtr<Lookout> self(static_cast<Lookout*>(arg));
  if (!error.ok() || self->mu_lost_.IsLost()) return;
  {
    MutexLock lock(&self->mu_);
    if (self->ended_) return;
  }
  LookAtDescriptorsNow();
  grpc_core::ExecCtx::Get()->InvalidateNow();
  MutexLock lock(&self->mu_);
  if (!self->ended_) self->SetTimer();
}

void Lookout::End() {
  if (mu_lost_.IsLost()) return;
  MutexLock lock(&mu_);
  if (!std::exchange(ended_, true)) grpc_timer_cancel(&timer_);
}

}  // namespace skein::grpc_transport
