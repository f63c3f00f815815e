#include "grpc_transport/preload/serve.h"

#include <skein/grpc.h>

#include <cstdio>
#include <string>

#include "grpc_transport/common/process_state.h"

// The dynamic linker knows functions by plain names.
extern "C" SKEIN_EXPORT const char* skein_grpc_serve_1(const char* const* environment) {
  skein::grpc_transport::UseEnvironment(environment);
  const absl::Status status = skein::grpc_transport::Init();
  if (status.ok()) return nullptr;
  static const auto* const message = new std::string(status.message());
  if (!absl::IsInvalidArgument(status)) return message->c_str();
  // Served all the same: each connection fails and says so. gRPC's log is still shut: it opens with grpc_init.
  static const bool said = std::fprintf(stderr, "skein: %s\n", message->c_str()) > 0;
  static_cast<void>(said);
  return nullptr;
}
