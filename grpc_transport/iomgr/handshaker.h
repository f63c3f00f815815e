// What both sides' negotiations have in common: reading and writing on the new connection before HTTP/2 or TLS begins,
// a timer, and the four ways it can end. A side says what to do with what arrives.
//
// Lock: mu_, held during every virtual call. gRPC's callbacks never run under it: they come from an ExecCtx.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_HANDSHAKER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_HANDSHAKER_H_

#include <skein/grpc.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/fallback.h"
#include "core/base/mutex.h"
#include "core/base/options.h"
#include "core/stream/connector.h"
#include "grpc_transport/common/path_list.h"
#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "grpc_transport/iomgr/runtime.h"
#include "grpc_transport/iomgr/tcp_reader.h"

namespace skein::grpc_transport {

class Handshaker : public grpc_core::Handshaker {
 public:
  Handshaker(Path::Role role, absl::StatusOr<Options> options);
  ~Handshaker() override;

  void Shutdown(grpc_error_handle why) final;
  void DoHandshake(grpc_tcp_server_acceptor* acceptor, grpc_closure* on_done, grpc_core::HandshakerArgs* args) final;
  const char* name() const final { return "skein"; }

 protected:
  // With a connection and the options. Whichever of the two this starts with:
  virtual void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void OnWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void OnBytes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;  // there are more in received()
  // The connection was lost, at the latest while reading or writing.
  virtual void OnLost(const grpc_error_handle& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void OnTimeout() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;  // what was being read still may be
  virtual void OnShutdown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}

  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Write(absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);  // negotiation_timeout
  // For something else than bytes: from now on OnTimeout may come at once. EndWaiting: whether that is still awaited.
  void Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool EndWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return std::exchange(waiting_, false); }
  // All that was read, but at most `max_bytes`.
  std::string received(size_t max_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t received_bytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return args_->read_buffer->length; }
  void DropReceived(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The ends; one of them, once. What was read and not dropped is for whoever comes next.
  void FinishWithStream(stream::Outcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Fails instead if the mode is require.
  void FinishWithTcp(const Fallback& why, bool preface_sent = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Destroys the connection and begins again on another one, as if nothing had been read.
  void DropConnection(const grpc_error_handle& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void UseConnection(grpc_endpoint* tcp) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A polling engine that links cannot be watched with; kNone if this one is not.
  static Fallback Prevented();
  // Of this connection, or of the one that follows it after DropConnection.
  const stream::Route& route() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return route_; }
  const stream::Streams& streams() { return runtime_.StreamsFor(options()); }
  // From before the first link could be made. gRPC's shutdown waits for it.
  void WatchLinks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { user_ = std::make_unique<Waiter::User>(&runtime_.waiter()); }
  bool secure() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of the negotiation: what this end can do on a stream besides HTTP/2.
  uint8_t features() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool is_shut_down() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return shut_down_; }
  const Options& options() const { return *options_; }
  Runtime& runtime() { return runtime_; }
  grpc_core::HandshakerArgs& args() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return *args_; }

  Mutex mu_;

 private:
  static void OnReadDone(void* arg, grpc_error_handle error);
  static void OnWriteDoneInline(void* arg, grpc_error_handle error);
  static void OnWriteDone(void* arg, grpc_error_handle error);
  static void OnTimer(void* arg, grpc_error_handle error);

  void Finish(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool finished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return on_done_ == nullptr; }
  // Where the connection's calls are traced from now on.
  grpc_core::RefCountedPtr<ConnectionTrace> TraceAs(trace::Path path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  ListedPath List(std::string path, std::string why, bool below_http2 = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Path::Role role_;
  const absl::StatusOr<Options> options_;
  Runtime& runtime_ = Runtime::Get();

  grpc_core::HandshakerArgs* args_ ABSL_GUARDED_BY(mu_) = nullptr;  // holds the connection, until the end
  grpc_closure* on_done_ ABSL_GUARDED_BY(mu_) = nullptr;            // null before the beginning and after the end
  stream::Route route_ ABSL_GUARDED_BY(mu_);
  grpc_core::RefCountedPtr<TcpReader> reader_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Waiter::User> user_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  bool timed_out_ ABSL_GUARDED_BY(mu_) = false;
  bool timer_runs_ ABSL_GUARDED_BY(mu_) = false;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;
  grpc_timer timer_ ABSL_GUARDED_BY(mu_);
  grpc_slice_buffer outgoing_;  // the endpoint's while a write is out
  // Each holds a reference while it is out.
  grpc_closure on_timer_;
  grpc_closure on_read_;
  grpc_closure on_write_inline_;
  grpc_closure on_write_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_HANDSHAKER_H_
