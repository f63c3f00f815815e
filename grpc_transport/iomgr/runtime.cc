#include "grpc_transport/iomgr/runtime.h"

#include <unistd.h>

#include <atomic>

#include "grpc_transport/iomgr/polling_engine.h"

namespace skein::grpc_transport {

namespace {

// Of the process: its threads wait for all of its channels.
progress::SpinPolicy SpinPolicyOf(const Options& options) { return {options.wait_mode, options.spin_time}; }

// Null: the process's.
std::atomic<const char* const*> environment_used{nullptr};

const char* const* EnvironmentUsed() {
  const char* const* const used = environment_used.load(std::memory_order_acquire);
  return used == nullptr ? environ : used;
}

}  // namespace

void Runtime::UseEnvironment(const char* const* environment) {
  environment_used.store(environment, std::memory_order_release);
}

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime()
    : environment_(OptionsFromEnvironment({}, "SKEIN_GRPC", EnvironmentUsed())),
      waiter_(SpinPolicyOf(environment_.options)) {
  RegisterPollingEngine(&waiter_.busy_set(), SpinPolicyOf(environment_.options));
}

}  // namespace skein::grpc_transport
