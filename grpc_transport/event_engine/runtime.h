// What all connections of this process share. Made by Init() and never destroyed: gRPC's threads may still use it while
// the process ends.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RUNTIME_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RUNTIME_H_

#include "grpc_transport/common/process_state.h"
#include "grpc_transport/event_engine/link_poller.h"

namespace skein::grpc_transport {

// Any thread.
class Runtime {
 public:
  static Runtime& Get();

  const EnvironmentOptions& environment() const { return state_.environment(); }
  ProcessState& state() { return state_; }
  LinkPoller& poller() { return poller_; }

 private:
  explicit Runtime(const EnvironmentOptions& environment);

  LinkPoller poller_;
  ProcessState state_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RUNTIME_H_
