// Where gRPC puts a transport under a channel or a server's connection.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_STAGES_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_STAGES_H_

#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Before gRPC's configuration is built. A channel or a server's connection whose transport is chttp2, directly on a
// CallEndpoint, then has a CallTransport put before its transport. With TLS between the two it has not.
void RegisterCallTransport(grpc_core::CoreConfiguration::Builder* builder);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_CALL_STAGES_H_
