// While a client's connection is being negotiated: somebody looks at gRPC's descriptors.
//
// gRPC runs what becomes ready of a descriptor on threads that wait for calls. While a channel has no connection, calls
// without wait_for_ready fail at once, and none waits: gRPC itself then looks each 5 s, and each step of a negotiation
// would take so long. TLS's own handshake in between does, as over TCP.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_LOOKOUT_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_LOOKOUT_H_

#include "absl/base/thread_annotations.h"
#include "core/base/lost_at_fork.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Any thread, with an ExecCtx. Lock: mu_, after the handshaker's and before those of gRPC's timers.
class Lookout final : public grpc_core::RefCounted<Lookout> {
 public:
  // Looks in 10 ms, then each time after twice as long.
  Lookout();
  // No look begins any more. Idempotent.
  void End() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static void OnTimer(void* arg, grpc_error_handle error);
  void SetTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  LostAtFork mu_lost_{mu_};
  grpc_timer timer_ ABSL_GUARDED_BY(mu_);
  grpc_closure on_timer_;  // holds a reference while the timer runs
  grpc_core::Duration next_ ABSL_GUARDED_BY(mu_) = grpc_core::Duration::Milliseconds(10);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_LOOKOUT_H_
