// A plug-in that initialises gRPC as it is loaded; its host is told before.
#include <grpc/grpc.h>

extern "C" void plugin_begins();

namespace {

[[gnu::constructor]] void Begin() {
  plugin_begins();
  grpc_init();
}

}  // namespace
