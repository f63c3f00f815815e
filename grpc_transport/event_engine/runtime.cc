#include "grpc_transport/event_engine/runtime.h"

#include "grpc_transport/event_engine/waiting_callers.h"

namespace skein::grpc_transport {

template <>
void Runtime::LetGrpcPoll(LinkPoller& poller, const wait::SpinPolicy& policy) {
  LetCallersPoll(&poller, policy);
}

}  // namespace skein::grpc_transport
