// The last handshaker of a client's connection over a stream: it waits until the server has said something.
//
// gRPC 1.51 leaks a connection whose channel is closed between the last handshaker's end and the server's SETTINGS
// (Subchannel::OnConnectingFinishedLocked), and with such a connection its link. A channel's end does end a handshaker,
// and so does gRPC's deadline for connecting. A Skein server is a gRPC server, whose SETTINGS come unasked.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_FIRST_BYTES_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_FIRST_BYTES_H_

#include "absl/base/thread_annotations.h"
#include "core/base/lost_at_fork.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "grpc_transport/iomgr/lookout.h"

namespace skein::grpc_transport {

// Behind TLS. Over TCP it waits for nothing: a server there may be any, and one that lets the client speak first.
// Lock: mu_; the endpoint schedules its callbacks.
class FirstBytes final : public grpc_core::Handshaker {
 public:
  FirstBytes() { GRPC_CLOSURE_INIT(&on_read_, OnRead, this, nullptr); }

  void Shutdown(grpc_error_handle why) override;
  void DoHandshake(grpc_tcp_server_acceptor* acceptor, grpc_closure* on_done, grpc_core::HandshakerArgs* args) override;
  const char* name() const override { return "skein_first_bytes"; }

 private:
  static void OnRead(void* arg, grpc_error_handle error);
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  LostAtFork mu_lost_{mu_};
  grpc_core::HandshakerArgs* args_ ABSL_GUARDED_BY(mu_) = nullptr;
  grpc_closure* on_done_ ABSL_GUARDED_BY(mu_) = nullptr;  // null before the beginning and after the end
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  grpc_core::RefCountedPtr<Lookout> lookout_ ABSL_GUARDED_BY(mu_);  // while it reads
  grpc_closure on_read_;                                            // holds a reference while it is out
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_FIRST_BYTES_H_
