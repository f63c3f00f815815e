#include "thrift_transport/runtime.h"

#include "core/base/forked.h"

namespace skein::thrift_transport {

Runtime& Runtime::Get() {
  BeginUse();
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Waiting& Runtime::WaitingAs(const Options& options) {
  MutexLock lock(&mu_);
  std::unique_ptr<Waiting>& waiting = waiting_[{options.wait_mode, options.spin_time}];
  if (waiting == nullptr) {
    waiting = std::make_unique<Waiting>(wait::SpinPolicy{options.wait_mode, options.spin_time});
  }
  return *waiting;
}

}  // namespace skein::thrift_transport
