#include "grpc_transport/iomgr/runtime.h"

#include "grpc_transport/iomgr/polling_engine.h"

namespace skein::grpc_transport {

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime(ReadEnvironment());
  return *runtime;
}

Runtime::Runtime(const EnvironmentOptions& environment)
    : waiter_(SpinPolicyOf(environment.options)), state_(environment, &waiter_) {
  RegisterPollingEngine(&waiter_.busy_set(), SpinPolicyOf(environment.options));
}

}  // namespace skein::grpc_transport
