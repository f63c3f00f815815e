// The one outstanding read that a TCP endpoint may have, as an object that can change hands: a read cannot be taken
// back, so a negotiation that gives up waiting leaves it to whoever uses the connection next.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_TCP_READER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_TCP_READER_H_

#include "absl/base/thread_annotations.h"
#include "core/base/lost_at_fork.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Any thread, with an ExecCtx. In a forked child whose parent held the lock every read fails.
class TcpReader : public grpc_core::RefCounted<TcpReader> {
 public:
  // `tcp` is shut down and destroyed by its owner, with the read outstanding or not.
  explicit TcpReader(grpc_endpoint* tcp);
  ~TcpReader() override;

  // Schedules `on_done` when bytes have arrived, or with the error. One at a time. Starts a read unless one is out.
  void Read(grpc_closure* on_done);
  // Forgets the closure given to Read. False: it is scheduled already.
  bool Withdraw();
  // Moves what has arrived to the end of `out`.
  void MoveInto(grpc_slice_buffer* out);
  // Nothing is out and nothing is kept: the endpoint may be read directly.
  bool idle();

 private:
  static void OnRead(void* arg, grpc_error_handle error);

  grpc_endpoint* const tcp_;
  grpc_closure on_read_;
  Mutex mu_;
  LostAtFork mu_lost_{mu_};
  grpc_slice_buffer incoming_;  // the endpoint's while a read is out, else guarded by mu_
  bool out_ ABSL_GUARDED_BY(mu_) = false;
  bool completed_ ABSL_GUARDED_BY(mu_) = false;  // with nobody waiting
  grpc_error_handle error_ ABSL_GUARDED_BY(mu_);
  grpc_closure* on_done_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_TCP_READER_H_
