// What has arrived over a stream, as gRPC's slices: not copied, and counted in its resource quota until the last
// reference has gone, which may be after the channel has.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_RECEIVED_SLICE_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_RECEIVED_SLICE_H_

#include "core/stream/stream.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

using Quota = grpc_core::MemoryOwner;

// A share in the quota that a connection's arguments name, under `name`.
Quota QuotaOf(const grpc_core::ChannelArgs& args, absl::string_view name);

// Under an ExecCtx: a quota that has run out has gRPC look for what it can give up.
grpc_slice ReceivedSlice(stream::Buffer buffer, Quota& quota);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_RECEIVED_SLICE_H_
