#include "grpc_transport/event_engine/runtime.h"

#include "grpc_transport/event_engine/waiting_callers.h"

namespace skein::grpc_transport {

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime(ReadEnvironment());
  return *runtime;
}

Runtime::Runtime(const EnvironmentOptions& environment)
    : poller_(SpinPolicyOf(environment.options)), state_(environment, &poller_) {
  LetCallersPoll(&poller_, SpinPolicyOf(environment.options));
}

}  // namespace skein::grpc_transport
