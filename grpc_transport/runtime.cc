#include "grpc_transport/runtime.h"

#include <unistd.h>

#include "core/base/forked.h"

namespace skein::grpc_transport {

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() : environment_(OptionsFromEnvironment({}, "SKEIN_GRPC", environ)) { NoticeForks(); }

}  // namespace skein::grpc_transport
