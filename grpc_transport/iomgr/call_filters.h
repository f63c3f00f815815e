// gRPC's calls, as they pass from the framework to a connection's transport and back: for tracing. A call that is not
// traced costs a pointer, and a look at it.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALL_FILTERS_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALL_FILTERS_H_

#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Puts filters above the transport of each connection that carries a ConnectionTrace.
void RegisterCallFilters(grpc_core::CoreConfiguration::Builder* builder);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALL_FILTERS_H_
