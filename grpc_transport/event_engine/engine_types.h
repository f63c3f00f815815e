// gRPC's public names that this adapter uses everywhere, in short.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENGINE_TYPES_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENGINE_TYPES_H_

#include <grpc/event_engine/endpoint_config.h>
#include <grpc/event_engine/event_engine.h>
#include <grpc/event_engine/memory_allocator.h>
#include <grpc/event_engine/slice_buffer.h>

namespace skein::grpc_transport {

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;
using grpc_event_engine::experimental::MemoryRequest;
using grpc_event_engine::experimental::SliceBuffer;

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENGINE_TYPES_H_
