// A server's listener, whose connections are negotiated about before gRPC accepts them.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LISTENER_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LISTENER_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "core/base/options.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

// As EventEngine::CreateListener, on `inner`. `on_shutdown` comes when the listener is destroyed and no connection is
// on its way to `on_accept` any more: those that are still being negotiated about end then.
absl::StatusOr<std::unique_ptr<EventEngine::Listener>> NewListener(
    const std::shared_ptr<EventEngine>& inner, absl::StatusOr<Options> options,
    EventEngine::Listener::AcceptCallback on_accept, absl::AnyInvocable<void(absl::Status)> on_shutdown,
    const EndpointConfig& config, std::unique_ptr<MemoryAllocatorFactory> memory_allocator_factory);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_LISTENER_H_
