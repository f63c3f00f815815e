// Skein for gRPC: everything a program may call. It only needs Init(); the rest is by channel arguments.
#ifndef SKEIN_GRPC_H_
#define SKEIN_GRPC_H_

#include <skein/export.h>
#include <skein/traced.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace skein {

// How one connection runs.
struct Path {
  enum class Role { kClient, kServer };
  Role role = Role::kClient;
  std::string local;    // as gRPC writes addresses: "ipv4:127.0.0.1:50051"
  std::string peer;     // the same; on a server, what ServerContext::peer() says
  std::string path;     // "shm", "tcp", or RDMA's device: "rdma:mlx5_0"
  std::string why;      // why not a better one; empty when there is none
  bool secure = false;  // TLS or the like runs on top
  bool below_http2 =
      false;  // calls travel straight over the path: SKEIN_CALLS is auto at both ends, and there is no TLS
};

// The live connections of this process that asked for Skein or were asked, oldest first; none in a forked child. Any
// thread.
SKEIN_EXPORT std::vector<Path> Paths();

namespace grpc_transport {

// Once, before the first channel or server. From then on channels and servers whose argument "skein.mode" says prefer
// or require use Skein; without the argument, SKEIN_GRPC in the environment decides, and without that nothing changes.
// FAILED_PRECONDITION: called too late, or this process runs another gRPC than the one Skein was built for; gRPC then
// works as if Skein were not there. INVALID_ARGUMENT: SKEIN_GRPC asks for Skein, and a SKEIN_* variable is wrong;
// every connection will fail and say so. A second call gives the first one's status. Any thread. With gRPC 1.73 and
// later it is never too late: channels and servers of before go on without Skein, later ones use it.
SKEIN_EXPORT absl::Status Init();

// From now on Skein calls `on_call` with one unary call of `every` of this process, at either end, over the connections
// that Paths() has; with none if `every` is 0 or `on_call` is empty. At any time; the last setting counts,
// and if that was Thrift's (<skein/thrift/tracing.h>), it hears of gRPC's calls as well, as this one hears of Thrift's.
// docs/tracing.md has the cost. RESOURCE_EXHAUSTED: no thread is to be had. With gRPC 1.73 and later, also
// UNIMPLEMENTED: the process has gRPC without its C++ library; FAILED_PRECONDITION: the program has a global client
// interceptor of its own, and gRPC takes no second one. Any thread, one at a time.
SKEIN_EXPORT absl::Status TraceCalls(uint32_t every, OnTracedCall on_call);

}  // namespace grpc_transport
}  // namespace skein

#endif  // SKEIN_GRPC_H_
