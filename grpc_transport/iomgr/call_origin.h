// When a client's call began: at its channel, while name resolution, load balancing and waiting for a connection lie
// ahead. The filter at the connection, which traces the call, learns of it here.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALL_ORIGIN_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALL_ORIGIN_H_

#include <cstdint>

#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Puts a filter on top of each channel for which `wanted` is true.
void RegisterCallOrigin(grpc_core::CoreConfiguration::Builder* builder,
                        bool (*wanted)(const grpc_core::ChannelArgs& arguments));

// Of the call that this thread is handing to a connection, once; ns of CLOCK_MONOTONIC. 0: not known, since tracing was
// off, or another thread began it (the call had to wait for a connection).
uint64_t OriginOf(const grpc_call_element_args& call);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALL_ORIGIN_H_
