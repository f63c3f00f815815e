// How the stub (libskein_grpc_preload.so) asks libskein_grpc.so.1 to serve the gRPC of this process. The stub opens the
// library at run time and finds the function by its name; another meaning gets another name.
#ifndef SKEIN_GRPC_TRANSPORT_PRELOAD_SERVE_H_
#define SKEIN_GRPC_TRANSPORT_PRELOAD_SERVE_H_

namespace skein::preload {

inline constexpr char kLibrary[] = "libskein_grpc.so.1";
inline constexpr char kServe[] = "skein_grpc_serve_1";

// Init(), with the SKEIN_* variables of `environment` ("NAME=value" strings, null at the end; valid forever) in the
// place of the process's. Null: done. Else why this gRPC cannot be served; valid forever. Any thread.
using ServeFunction = const char* (*)(const char* const* environment);

}  // namespace skein::preload

#endif  // SKEIN_GRPC_TRANSPORT_PRELOAD_SERVE_H_
