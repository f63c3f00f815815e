// A connection that stays on TCP after a negotiation: gRPC's own endpoint, with three small differences. A read that
// the negotiation left outstanding is used, the connection is listed in Paths(), and on a client whose offer began with
// the HTTP/2 preface, the preface that the transport is about to send again is left out.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_TCP_ENDPOINT_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_TCP_ENDPOINT_H_

#include <memory>

#include "grpc_transport/common/path_list.h"
#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "grpc_transport/iomgr/tcp_reader.h"

namespace skein::grpc_transport {

// Owns `tcp`. `reader` is its reader, idle or not.
grpc_endpoint* NewTcpEndpoint(grpc_endpoint* tcp, grpc_core::RefCountedPtr<TcpReader> reader, bool preface_sent,
                              ListedPath path, grpc_core::RefCountedPtr<ConnectionTrace> trace);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_TCP_ENDPOINT_H_
