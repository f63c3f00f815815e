// The asked side of a negotiation: looks at a connection's first bytes until it is certain whose they are.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_SERVER_HANDSHAKER_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_SERVER_HANDSHAKER_H_

#include <memory>

#include "grpc_transport/common/offer_bytes.h"
#include "grpc_transport/iomgr/handshaker.h"

namespace skein::grpc_transport {

class ServerHandshaker final : public Handshaker {
 public:
  explicit ServerHandshaker(absl::StatusOr<Options> options) : Handshaker(Path::Role::kServer, std::move(options)) {}

 private:
  void Begin() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnWritten() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnBytes() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnLost(const grpc_error_handle& error) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { Fail(error); }
  void OnTimeout() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  stream::Listener::Result Accept(absl::string_view offer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  stream::Outcome outcome_ ABSL_GUARDED_BY(mu_);  // while the answer is being written
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_SERVER_HANDSHAKER_H_
