#include "grpc_transport/event_engine/engine.h"

#include <grpc/impl/channel_arg_names.h>

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/forked.h"
#include "grpc_transport/common/channel_arguments.h"
#include "grpc_transport/common/client_negotiation.h"
#include "grpc_transport/event_engine/addresses.h"
#include "grpc_transport/event_engine/client_tracing.h"
#include "grpc_transport/event_engine/from_descriptor.h"
#include "grpc_transport/event_engine/listener.h"
#include "grpc_transport/event_engine/ready.h"
#include "grpc_transport/event_engine/runtime.h"
#include "grpc_transport/event_engine/settings.h"

namespace skein::grpc_transport {
namespace {

// gRPC names these two for itself alone.
constexpr char kServerUri[] = "grpc.server_uri";
constexpr char kProxyServer[] = "grpc.http_connect_server";
// Of a handle of ours; gRPC's engine counts upwards from 1.
constexpr intptr_t kOurs = -0x5ce1;

bool IsSecure(const EndpointConfig& config) {
  return config.GetString(GRPC_ARG_HTTP2_SCHEME).value_or("http") == "https";
}

// A connection that is asked about may end, and another one follows it.
Fallback WhyNotAsked(const EndpointConfig& config) {
  if (KeptConfig::CanKeep(config)) return {};
  return {FallbackCode::kResources,
          "the channel has a socket mutator, which gRPC alone can give to a second connection"};
}

}  // namespace

const std::shared_ptr<EventEngine>& Engine::inner() {
  absl::call_once(once_, [this] { inner_ = make_inner_(); });
  return inner_;
}

void Engine::Run(Closure* closure) {
  Ready::Callback run = [closure] { closure->Run(); };
  if (!Ready::Keep(inner(), run)) inner()->Run(closure);
}

void Engine::Run(absl::AnyInvocable<void()> closure) {
  if (!Ready::Keep(inner(), closure)) inner()->Run(std::move(closure));
}

absl::StatusOr<std::unique_ptr<EventEngine::Listener>> Engine::CreateListener(
    Listener::AcceptCallback on_accept, absl::AnyInvocable<void(absl::Status)> on_shutdown,
    const EndpointConfig& config, std::unique_ptr<MemoryAllocatorFactory> memory_allocator_factory) {
  absl::StatusOr<Options> options = OptionsOf(Runtime::Get().environment(), config);
  if (IsOff(options)) {
    return inner()->CreateListener(std::move(on_accept), std::move(on_shutdown), config,
                                   std::move(memory_allocator_factory));
  }
  Runtime::Get().state().WarnOnce();
  return NewListener(inner(), std::move(options), std::move(on_accept), std::move(on_shutdown), config,
                     std::move(memory_allocator_factory));
}

EventEngine::ConnectionHandle Engine::Connect(OnConnectCallback on_connect, const ResolvedAddress& address,
                                              const EndpointConfig& config, MemoryAllocator memory_allocator,
                                              Duration timeout) {
  absl::StatusOr<Options> options = OptionsOf(Runtime::Get().environment(), config);
  // No channel: one of gRPC's own errands over HTTP.
  const bool errand = !config.GetString(kServerUri).has_value();
  if (errand || IsOff(options)) {
    return inner()->Connect(std::move(on_connect), address, config, std::move(memory_allocator), timeout);
  }
  Runtime::Get().state().WarnOnce();
  SharedAllocator allocator(std::move(memory_allocator));
  const intptr_t number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto connection = std::make_shared<NegotiatedConnection>(
      inner(), allocator,
      [this, number, keep = shared_from_this(),
       on_connect = std::move(on_connect)](absl::StatusOr<std::unique_ptr<Endpoint>> endpoint) mutable {
        Take(number);
        on_connect(std::move(endpoint));
      },
      IsSecure(config), WhyNotAsked(config));
  ClientTracing::ConnectionBegins();
  const uint8_t features = ClientTracing::Possible().ok() ? kUnaskedTimesFeature : 0;
  const bool behind_proxy = config.GetString(kProxyServer).has_value();
  connection->Conduct(std::make_unique<ClientNegotiation>(std::move(options), AddressText(address), behind_proxy,
                                                          *connection, Runtime::Get().state()),
                      Path::Role::kClient, features);
  Note(number, connection);
  const absl::Time deadline = SteadyNow() + absl::FromChrono(timeout);
  connection->Connect([inner = inner(), address, allocator, kept = KeptConfig(config), first = &config,
                       deadline](OnConnectCallback on_connected) mutable {
    const EndpointConfig& its_config = first != nullptr ? *first : kept;
    first = nullptr;  // gRPC's is there for this call alone
    return inner->Connect(std::move(on_connected), address, its_config, allocator.Share(),
                          absl::ToChronoNanoseconds(deadline - SteadyNow()));
  });
  return {number, kOurs};
}

bool Engine::CancelConnect(ConnectionHandle handle) {
  if (handle.keys[1] != kOurs) return inner()->CancelConnect(handle);
  const std::shared_ptr<NegotiatedConnection> connection = Take(handle.keys[0]);
  return connection != nullptr && connection->Cancel();
}

void Engine::Note(intptr_t number, std::shared_ptr<NegotiatedConnection> connection) {
  if (InForkedChild()) return;
  MutexLock lock(&mu_);
  connecting_.emplace(number, std::move(connection));
}

std::shared_ptr<NegotiatedConnection> Engine::Take(intptr_t number) {
  if (InForkedChild()) return nullptr;
  MutexLock lock(&mu_);
  const auto found = connecting_.find(number);
  if (found == connecting_.end()) return nullptr;
  std::shared_ptr<NegotiatedConnection> connection = std::move(found->second);
  connecting_.erase(found);
  return connection;
}

void* Engine::QueryExtension(absl::string_view id) {
  return FromDescriptor::IsUnderWay() ? inner()->QueryExtension(id) : nullptr;
}

}  // namespace skein::grpc_transport
