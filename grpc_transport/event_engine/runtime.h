// What all connections of this process share.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RUNTIME_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RUNTIME_H_

#include "grpc_transport/common/runtime.h"
#include "grpc_transport/event_engine/link_poller.h"

namespace skein::grpc_transport {

using Runtime = RuntimeOf<LinkPoller>;
template <>
void Runtime::LetGrpcPoll(LinkPoller& poller, const wait::SpinPolicy& policy);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_RUNTIME_H_
