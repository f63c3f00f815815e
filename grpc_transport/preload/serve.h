// How the stub (libskein_grpc_preload.so) asks libskein_grpc.so.1 to serve the gRPC of this process. The stub opens the
// library at run time and finds the function by its name; another meaning gets another name.
#ifndef SKEIN_GRPC_TRANSPORT_PRELOAD_SERVE_H_
#define SKEIN_GRPC_TRANSPORT_PRELOAD_SERVE_H_

namespace skein::preload {

// For the gRPC that the stub was built with; for libgrpc.so.N of another one the library is called
// libskein_grpc-N.so.1.
inline constexpr char kLibrary[] = "libskein_grpc.so.1";
inline constexpr char kServe[] = "skein_grpc_serve_1";
// What grpc_completion_queue_pluck and _next promise, with the real function as the first argument; some libraries have
// none.
inline constexpr char kPollAndPluck[] = "skein_grpc_pluck_1";
inline constexpr char kPollAndNext[] = "skein_grpc_next_1";
// Hears that this thread is about to make a connection from a descriptor (1), and that this is over (0); some libraries
// have none.
inline constexpr char kFromDescriptor[] = "skein_grpc_from_descriptor_1";
using FromDescriptorFunction = void (*)(int is_under_way);

// Init(), with the SKEIN_* variables of `environment` ("NAME=value" strings, null at the end; valid forever) in the
// place of the process's. Null: done. Else why this gRPC cannot be served; valid forever. Any thread.
using ServeFunction = const char* (*)(const char* const* environment);

}  // namespace skein::preload

#endif  // SKEIN_GRPC_TRANSPORT_PRELOAD_SERVE_H_
