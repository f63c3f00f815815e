// Lines of ours in gRPC's log, which is Abseil's.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LOG_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LOG_H_

namespace skein::grpc_transport {

// For Init(). GRPC_VERBOSITY counts as in gRPC: without it, errors alone are written.
void UseGrpcsLog();

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LOG_H_
