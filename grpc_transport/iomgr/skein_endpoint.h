// A gRPC endpoint whose bytes go over a stream; the TCP connection it was negotiated on stays open beside it, silent,
// as the sign of life that gRPC's own tools know: its addresses, its keepalive, its end when the peer's process ends.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_SKEIN_ENDPOINT_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_SKEIN_ENDPOINT_H_

#include <functional>
#include <memory>

#include "core/stream/stream.h"
#include "grpc_transport/common/path_list.h"
#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "grpc_transport/iomgr/received_slice.h"
#include "grpc_transport/iomgr/tcp_reader.h"
#include "grpc_transport/iomgr/waiter.h"

namespace skein::grpc_transport {

// Owns `tcp`; `reader` is its reader, with nothing left in it. `on_lost` is called at most once, under a lock, when the
// stream's link fails although the connection is well.
grpc_endpoint* NewSkeinEndpoint(std::shared_ptr<stream::Stream> stream, grpc_endpoint* tcp,
                                grpc_core::RefCountedPtr<TcpReader> reader, std::unique_ptr<Waiter::User> user,
                                ListedPath path, grpc_core::RefCountedPtr<ConnectionTrace> trace, Quota quota,
                                std::function<void()> on_lost);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_SKEIN_ENDPOINT_H_
