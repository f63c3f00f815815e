// A connection of gRPC 1.51's about which ends negotiate: gRPC hands it to a handshaker, before HTTP/2 or TLS begins.
//
// Lock: mu (Connection's). gRPC's callbacks never run under it: they come from an ExecCtx.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_HANDSHAKER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_HANDSHAKER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/options.h"
#include "grpc_transport/common/negotiation.h"
#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "grpc_transport/iomgr/lookout.h"
#include "grpc_transport/iomgr/runtime.h"
#include "grpc_transport/iomgr/tcp_reader.h"

namespace skein::grpc_transport {

// The asking side's, and the asked side's. `args`: the channel's, with the address that is about to be connected to.
grpc_core::RefCountedPtr<grpc_core::Handshaker> NewClientHandshaker(absl::StatusOr<Options> options,
                                                                    const grpc_core::ChannelArgs& args,
                                                                    grpc_pollset_set* interested_parties);
grpc_core::RefCountedPtr<grpc_core::Handshaker> NewServerHandshaker(absl::StatusOr<Options> options);

// Lives until gRPC and every callback that is out have let go of it.
class Handshaker final : public grpc_core::Handshaker, private Connection {
 public:
  // A client's has an `address` (a URI) to come back to.
  Handshaker(const absl::StatusOr<Options>& options, std::string address, grpc_pollset_set* interested_parties);
  ~Handshaker() override;

  // Before gRPC has it.
  void Conduct(std::unique_ptr<Negotiation> negotiation) { negotiation_ = std::move(negotiation); }
  Connection& connection() { return *this; }

  // The analysis does not see that the negotiation's connection is this object, and its lock mu.
  void Shutdown(grpc_error_handle why) override ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void DoHandshake(grpc_tcp_server_acceptor* acceptor, grpc_closure* on_done, grpc_core::HandshakerArgs* args) override;
  const char* name() const override { return "skein"; }

 private:
  void Read() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool WithdrawRead() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void TakeRead() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Write(absl::string_view bytes) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void StartTimer(absl::Duration duration) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void AwaitReached(stream::Stream& stream) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Status Reconnect() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool CancelReconnect() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Finish(Negotiated end) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::string Received(size_t max_bytes) const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  size_t ReceivedBytes() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return args_->read_buffer->length; }
  void DropReceived(size_t bytes) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  connect::Route RouteNow() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return route_; }
  std::string Local() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::string Peer() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool Secure() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool IsMade() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool HasEnded() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  uint8_t Features() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool is_client() const { return interested_parties_ != nullptr; }
  Fallback Prevented() const override;
  // gRPC's shutdown waits for the user.
  void WatchLinks() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    user_ = std::make_unique<Waiter::User>(&runtime_.links());
  }

  static void OnReadDone(void* arg, grpc_error_handle error);
  static void OnWriteDoneInline(void* arg, grpc_error_handle error);
  static void OnWriteDone(void* arg, grpc_error_handle error);
  static void OnTimer(void* arg, grpc_error_handle error);
  static void OnReconnected(void* arg, grpc_error_handle error);

  void UseConnection(grpc_endpoint* tcp) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void UseStream(Negotiated end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Where the connection's calls are traced from now on.
  grpc_core::RefCountedPtr<ConnectionTrace> TraceAs(trace::Path path, uint8_t features)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  Runtime& runtime_ = Runtime::Get();
  const absl::Status wrong_options_;
  const bool calls_below_http2_;
  const std::string address_;
  grpc_pollset_set* const interested_parties_;
  std::unique_ptr<Negotiation> negotiation_;

  grpc_core::HandshakerArgs* args_ ABSL_GUARDED_BY(mu) = nullptr;  // holds the connection, until the end
  grpc_closure* on_done_ ABSL_GUARDED_BY(mu) = nullptr;
  connect::Route route_ ABSL_GUARDED_BY(mu);
  grpc_core::RefCountedPtr<TcpReader> reader_ ABSL_GUARDED_BY(mu);
  std::unique_ptr<Waiter::User> user_ ABSL_GUARDED_BY(mu);
  bool timer_runs_ ABSL_GUARDED_BY(mu) = false;
  grpc_timer timer_ ABSL_GUARDED_BY(mu);
  grpc_core::RefCountedPtr<Lookout> lookout_ ABSL_GUARDED_BY(mu);  // a client's
  std::optional<int64_t> connecting_ ABSL_GUARDED_BY(mu);
  grpc_endpoint* connected_ = nullptr;  // gRPC's until OnReconnected
  grpc_slice_buffer outgoing_;          // the endpoint's while a write is out
  // Each holds a reference while it is out.
  grpc_closure on_timer_;
  grpc_closure on_read_;
  grpc_closure on_write_inline_;
  grpc_closure on_write_;
  grpc_closure on_reconnected_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_HANDSHAKER_H_
