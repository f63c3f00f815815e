// What has arrived over a stream, as gRPC's slices: not copied, and counted in its resource quota until the last
// reference has gone, which may be after the channel has.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RECEIVED_SLICE_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RECEIVED_SLICE_H_

#include "core/stream/stream.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

grpc_slice ReceivedSlice(stream::Buffer buffer, MemoryAllocator& allocator);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RECEIVED_SLICE_H_
