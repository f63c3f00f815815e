#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_ERRORS_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_ERRORS_H_

#include <utility>

#include "absl/strings/string_view.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// An error that ends calls with `status`: without the property they would end with UNKNOWN.
inline grpc_error_handle WithStatus(grpc_error_handle error, grpc_status_code status) {
  return grpc_error_set_int(std::move(error), grpc_core::StatusIntProperty::kRpcStatus, status);
}

// UNAVAILABLE, which callers may retry.
inline grpc_error_handle Unavailable(absl::string_view message) {
  return WithStatus(GRPC_ERROR_CREATE(message), GRPC_STATUS_UNAVAILABLE);
}

// `error`, with UNAVAILABLE if no status is to be found in it.
inline grpc_error_handle OrUnavailable(const grpc_error_handle& error) {
  return grpc_error_has_clear_grpc_status(error) ? error : WithStatus(error, GRPC_STATUS_UNAVAILABLE);
}

// By a handshaker that fails: nothing is left of the connection, nor of what was read.
inline void Abandon(grpc_core::HandshakerArgs& args, const grpc_error_handle& why) {
  if (args.endpoint != nullptr) {
    grpc_endpoint_shutdown(args.endpoint, why);
    grpc_endpoint_destroy(args.endpoint);
    args.endpoint = nullptr;
  }
  grpc_slice_buffer_destroy(args.read_buffer);
  gpr_free(args.read_buffer);
  args.read_buffer = nullptr;
  args.args = grpc_core::ChannelArgs();
}

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_ERRORS_H_
