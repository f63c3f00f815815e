// libskein_grpc_preload.so: Init() before main, for programs that know nothing of Skein. Child processes inherit
// LD_PRELOAD, so this does as little as it can.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "grpc_transport/skein.h"

namespace {

[[gnu::constructor]] void InitBeforeMain() {
  if (std::getenv("SKEIN_GRPC") == nullptr) return;
  const absl::Status status = skein::grpc_transport::Init();
  if (status.ok()) return;
  // gRPC's log is still shut: it opens with grpc_init.
  std::fprintf(stderr, "skein: %s\n", std::string(status.message()).c_str());
}

}  // namespace
