// What all connections of this process share.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_RUNTIME_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_RUNTIME_H_

#include "grpc_transport/common/runtime.h"
#include "grpc_transport/iomgr/waiter.h"

namespace skein::grpc_transport {

using Runtime = RuntimeOf<Waiter>;
template <>
void Runtime::LetGrpcPoll(Waiter& waiter, const wait::SpinPolicy& policy);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_RUNTIME_H_
