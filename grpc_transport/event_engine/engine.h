// The EventEngine that gRPC is given: gRPC's own, but that connections are negotiated about before gRPC hears of them.
// Everything else goes to the inner engine.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENGINE_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "core/base/mutex.h"
#include "grpc_transport/event_engine/engine_types.h"
#include "grpc_transport/event_engine/negotiated_connection.h"
#include "grpc_transport/event_engine/ready.h"

namespace skein::grpc_transport {

// Any thread. Lock: mu_, a leaf: the inner engine is asked without it. A forked child does without the lock, and so
// without the list: another thread of the parent may have held it. There a connection cannot be cancelled; soon it ends
// by itself, since a child uses TCP.
class Engine final : public EventEngine {
 public:
  // `make_inner` is called at first use: a library that is preloaded starts no thread before main.
  explicit Engine(absl::AnyInvocable<std::shared_ptr<EventEngine>()> make_inner) : make_inner_(std::move(make_inner)) {}

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback on_accept, absl::AnyInvocable<void(absl::Status)> on_shutdown,
      const EndpointConfig& config, std::unique_ptr<MemoryAllocatorFactory> memory_allocator_factory) override;
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress& address, const EndpointConfig& config,
                           MemoryAllocator memory_allocator, Duration timeout) override;
  bool CancelConnect(ConnectionHandle handle) override;

  // The poller's threads run what gRPC gives its engine, as the inner engine's do.
  bool IsWorkerThread() override { return Ready::IsPollersThread() || inner()->IsWorkerThread(); }
  absl::StatusOr<std::unique_ptr<DNSResolver>> GetDNSResolver(const DNSResolver::ResolverOptions& options) override {
    return inner()->GetDNSResolver(options);
  }
  void Run(Closure* closure) override;
  void Run(absl::AnyInvocable<void()> closure) override;
  TaskHandle RunAfter(Duration when, Closure* closure) override { return inner()->RunAfter(when, closure); }
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override {
    return inner()->RunAfter(when, std::move(closure));
  }
  bool Cancel(TaskHandle handle) override { return inner()->Cancel(handle); }
  // gRPC's own, to make a connection from a descriptor of the program's, and none else: a listener would be made with
  // it, around this engine.
  void* QueryExtension(absl::string_view id) override;

 private:
  const std::shared_ptr<EventEngine>& inner();
  void Note(intptr_t number, std::shared_ptr<NegotiatedConnection> connection);
  // The connection with this number, which is not among `connecting_` any more; null if it was not.
  std::shared_ptr<NegotiatedConnection> Take(intptr_t number);

  absl::once_flag once_;
  absl::AnyInvocable<std::shared_ptr<EventEngine>()> make_inner_;
  std::shared_ptr<EventEngine> inner_;

  std::atomic<intptr_t> last_number_{0};  // relaxed: each is given once

  Mutex mu_;
  // That are being made or negotiated about: the first key of their handles. (The second says that it is one of these.)
  absl::flat_hash_map<intptr_t, std::shared_ptr<NegotiatedConnection>> connecting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_ENGINE_H_
