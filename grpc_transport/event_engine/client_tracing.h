// Calls of this process's clients, seen by an interceptor of gRPC's that all channels of the process have.
//
//   not there  ------------------------------------------------------------------------------------------>  there
//                something is traced, and a connection has been begun: the program has no such interceptor
//
// gRPC takes one such interceptor in a process, to be set before its first operation; a program that sets one
// after Skein's would be ended by gRPC. So Skein's comes behind the first connection, when the program has set its own,
// or has none, and if calls are ever traced: an interceptor costs each call a microsecond or two. It stays, since gRPC
// has no way to take it out.
//
// A call's interceptor does not know which connection will carry the call, so nothing can be asked in the call's
// metadata: they might go to any server over TCP. Where the ends have agreed on it (kUnaskedTimesFeature), the server
// tells the times of each call instead, and what all calls have here takes that out of the metadata.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_CLIENT_TRACING_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_CLIENT_TRACING_H_

#include "absl/status/status.h"

namespace skein::grpc_transport {

// Any thread.
class ClientTracing {
 public:
  // Whether calls of clients could be traced. UNIMPLEMENTED: the program does not use gRPC's C++ library.
  // FAILED_PRECONDITION: it has an interceptor of its own there.
  static absl::Status Possible();

  // A client's connection is begun.
  static void ConnectionBegins();
  // Something is traced, or will be: calls that begin from now on are seen, if one can.
  static void Begin();
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_CLIENT_TRACING_H_
