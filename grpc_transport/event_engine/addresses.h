// EventEngine's addresses, as gRPC writes them and as routes need them.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ADDRESSES_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ADDRESSES_H_

#include <string>

#include "core/connect/route.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

// "ipv4:127.0.0.1:50051", "ipv6:%5B::1%5D:50051", "unix:/path", "unix-abstract:name"; of another family its number.
std::string AddressText(const EventEngine::ResolvedAddress& address);

connect::Route RouteOf(const EventEngine::Endpoint& endpoint);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ADDRESSES_H_
