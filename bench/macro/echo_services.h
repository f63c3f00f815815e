// The service, by each of gRPC's interfaces for servers.
#ifndef SKEIN_BENCH_MACRO_ECHO_SERVICES_H_
#define SKEIN_BENCH_MACRO_ECHO_SERVICES_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/strings/string_view.h"
#include "bench/macro/echo.grpc.pb.h"

namespace skein::bench {

// "callback": gRPC's own threads call it. Otherwise blocking handlers on a pool of threads.
std::unique_ptr<grpc::Service> NewEchoService(absl::string_view style);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_ECHO_SERVICES_H_
