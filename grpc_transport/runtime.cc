#include "grpc_transport/runtime.h"

#include <unistd.h>

#include "core/base/forked.h"
#include "grpc_transport/polling_engine.h"

namespace skein::grpc_transport {

namespace {

// Of the process: its threads wait for all of its channels.
progress::SpinPolicy SpinPolicyOf(const absl::StatusOr<Options>& environment) {
  const Options options = environment.value_or(Options());
  return {options.wait_mode, options.spin_time, progress::Processors()};
}

}  // namespace

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime()
    : environment_(OptionsFromEnvironment({}, "SKEIN_GRPC", environ)), waiter_(SpinPolicyOf(environment_)) {
  NoticeForks();
  RegisterPollingEngine(&waiter_.busy_set(), SpinPolicyOf(environment_));
}

}  // namespace skein::grpc_transport
