// TCP's endpoint after a negotiation that ended without a stream: it gives what was read ahead, leaves out what was
// sent ahead, and then costs a call.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_ENDPOINT_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_ENDPOINT_H_

#include <functional>
#include <memory>

#include "grpc_transport/common/path_list.h"
#include "grpc_transport/event_engine/engine_types.h"
#include "grpc_transport/event_engine/tcp_reader.h"
#include "grpc_transport/event_engine/traced_connection.h"

namespace skein::grpc_transport {

// `received`: what was read and is HTTP/2's, or TLS's. `settings_frames`: of an offer that went ahead of HTTP/2, behind
// its preface; 0: nothing did. `on_other_beginning`, or empty: called at most once, inside Write, if gRPC begins with
// other bytes than that preface. The connection is of no use then, and its peer ends it.
std::unique_ptr<EventEngine::Endpoint> NewTcpEndpoint(std::unique_ptr<EventEngine::Endpoint> tcp,
                                                      std::shared_ptr<TcpReader> reader, SliceBuffer received,
                                                      int settings_frames, ListedPath path,
                                                      std::shared_ptr<TracedConnection> traced,
                                                      std::function<void()> on_other_beginning = nullptr);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TCP_ENDPOINT_H_
