#include "grpc_transport/event_engine/runtime.h"

namespace skein::grpc_transport {

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime(ReadEnvironment());
  return *runtime;
}

}  // namespace skein::grpc_transport
