// What all connections of this process share, with what watches their links.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_RUNTIME_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_RUNTIME_H_

#include "core/wait/spin_budget.h"
#include "grpc_transport/common/process_state.h"

namespace skein::grpc_transport {

// `Links` is an adapter's wait::Watcher. Made at first use, at the latest by Init(), and never destroyed: gRPC's
// detached threads may still use it while the process ends. Any thread.
template <typename Links>
class RuntimeOf {
 public:
  static RuntimeOf& Get() {
    static auto* const runtime = new RuntimeOf(ReadEnvironment());
    return *runtime;
  }

  const EnvironmentOptions& environment() const { return state_.environment(); }
  ProcessState& state() { return state_; }
  Links& links() { return links_; }

 private:
  explicit RuntimeOf(const EnvironmentOptions& environment)
      : links_(SpinPolicyOf(environment.options)), state_(environment, &links_) {
    LetGrpcPoll(links_, SpinPolicyOf(environment.options));
  }
  // Threads that wait inside gRPC poll the busy links from now on. Each adapter has its own way.
  static void LetGrpcPoll(Links& links, const wait::SpinPolicy& policy);

  Links links_;
  ProcessState state_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_RUNTIME_H_
