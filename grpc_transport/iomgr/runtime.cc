#include "grpc_transport/iomgr/runtime.h"

#include "grpc_transport/iomgr/polling_engine.h"

namespace skein::grpc_transport {

template <>
void Runtime::LetGrpcPoll(Waiter& waiter, const wait::SpinPolicy& policy) {
  RegisterPollingEngine(&waiter.busy_set(), policy);
}

}  // namespace skein::grpc_transport
