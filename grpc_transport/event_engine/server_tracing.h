// Calls of this process's servers, seen by an interceptor of gRPC's: each server that is built from now on has one more
// behind those of the program. It looks at no call while nobody traces.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SERVER_TRACING_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SERVER_TRACING_H_

#include <cstdint>

namespace skein::grpc_transport {

class ServerTracing {
 public:
  // Once, before the first server. Without gRPC's C++ library it does nothing.
  static void Begin();
  // What connections of a listener that this thread makes now can do (Connection::Features): nothing, unless it is of a
  // server whose calls are seen.
  static uint8_t FeaturesOfNewListener();
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_SERVER_TRACING_H_
