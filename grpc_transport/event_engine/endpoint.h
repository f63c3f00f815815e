// An endpoint of gRPC's whose bytes go over a stream; the TCP connection it was negotiated on stays open beside it,
// silent, as the sign of life that gRPC's own tools know: its addresses, its keepalive, its end when the peer's process
// ends. It promises the same as the adapter for gRPC 1.51: README.md, "A peer that does not read", "The end".
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENDPOINT_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENDPOINT_H_

#include <functional>
#include <memory>

#include "core/stream/stream.h"
#include "grpc_transport/common/path_list.h"
#include "grpc_transport/event_engine/engine_types.h"
#include "grpc_transport/event_engine/link_poller.h"
#include "grpc_transport/event_engine/tcp_reader.h"
#include "grpc_transport/event_engine/traced_connection.h"

namespace skein::grpc_transport {

// What an endpoint is made of.
struct EndpointParts {
  std::shared_ptr<EventEngine> engine;  // runs callbacks and timers: gRPC's own, not one that wraps it
  std::shared_ptr<stream::Stream> stream;
  std::unique_ptr<EventEngine::Endpoint> tcp;
  std::shared_ptr<TcpReader> reader;  // of `tcp`; a read may be out, or done, that nobody has awaited
  std::unique_ptr<LinkPoller::User> user;
  ListedPath path;
  MemoryAllocator allocator;  // counts what has arrived, and what is kept
  // Called at most once, under a lock, when the stream's link fails although the connection is well. May be empty.
  std::function<void()> on_lost;
  std::shared_ptr<TracedConnection> traced;
};

// Calls nothing back before it returns.
std::unique_ptr<EventEngine::Endpoint> NewSkeinEndpoint(EndpointParts parts);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENDPOINT_H_
