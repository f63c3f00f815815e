// The asking side of a negotiation.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CLIENT_HANDSHAKER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CLIENT_HANDSHAKER_H_

#include <memory>
#include <optional>
#include <string>

#include "grpc_transport/iomgr/handshaker.h"

namespace skein::grpc_transport {

// Plaintext: the offer hides in the beginning of HTTP/2, so that a server without Skein just goes on. TLS: a server
// without Skein drops who speaks first in another tongue; the client comes back on a new connection, and remembers.
class ClientHandshaker final : public Handshaker {
 public:
  // `factory_args`: the channel's, with the address that is about to be connected to.
  ClientHandshaker(absl::StatusOr<Options> options, const grpc_core::ChannelArgs& factory_args,
                   grpc_pollset_set* interested_parties);

 private:
  void Begin() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnWritten() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnBytes() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnLost(const grpc_error_handle& error) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnTimeout() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnShutdown() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Fallback PreventedHere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeOffer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAnswer(absl::string_view answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Both ends have said yes; whether anything arrives remains to be seen.
  void TryOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnReached(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnUnreachable(absl::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A new connection, on which nothing is asked.
  enum class Remember { kNo, kPeerIsPlain };
  void Reconnect(Fallback why, Remember remember) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void OnReconnected(void* arg, grpc_error_handle error);

  const std::string address_;  // a URI
  const bool behind_proxy_;
  grpc_pollset_set* const interested_parties_;

  bool secure_ ABSL_GUARDED_BY(mu_) = false;
  bool asked_ ABSL_GUARDED_BY(mu_) = false;  // the offer is on its way
  std::unique_ptr<stream::Connector::Attempt> attempt_ ABSL_GUARDED_BY(mu_);
  stream::Outcome outcome_ ABSL_GUARDED_BY(mu_);  // while it is tried out
  bool tried_out_ ABSL_GUARDED_BY(mu_) = false;   // it was given some time
  // While reconnecting:
  std::optional<int64_t> connecting_ ABSL_GUARDED_BY(mu_);
  grpc_endpoint* connected_ = nullptr;  // gRPC's until OnReconnected
  Fallback why_ ABSL_GUARDED_BY(mu_);
  Remember remember_ ABSL_GUARDED_BY(mu_) = Remember::kNo;
  grpc_closure on_reconnected_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CLIENT_HANDSHAKER_H_
