#include "grpc_transport/event_engine/listener.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/base/lost_at_fork.h"
#include "core/base/mutex.h"
#include "grpc_transport/common/log.h"
#include "grpc_transport/common/server_negotiation.h"
#include "grpc_transport/event_engine/negotiated_connection.h"
#include "grpc_transport/event_engine/runtime.h"
#include "grpc_transport/event_engine/server_tracing.h"
#include "grpc_transport/event_engine/shared_allocator.h"

namespace skein::grpc_transport {
namespace {

using Listener = EventEngine::Listener;

// What a listener and its connections share. Kept by the inner engine's two callbacks and by each connection until gRPC
// has accepted it: so its end is the moment after which nothing is accepted, and says so to gRPC.
//
// Lock: mu_. gRPC is called without it.
class Accepts : public std::enable_shared_from_this<Accepts> {
 public:
  Accepts(std::shared_ptr<EventEngine> inner, absl::StatusOr<Options> options, Listener::AcceptCallback on_accept,
          absl::AnyInvocable<void(absl::Status)> on_shutdown)
      : features_(ServerTracing::FeaturesOfNewListener()),
        inner_(std::move(inner)),
        options_(std::move(options)),
        on_accept_(std::move(on_accept)),
        on_shutdown_(std::move(on_shutdown)) {}
  ~Accepts() {
    if (on_shutdown_ != nullptr) on_shutdown_(std::move(status_));
  }

  void Accept(std::unique_ptr<EventEngine::Endpoint> tcp, MemoryAllocator allocator) {
    SharedAllocator shared(std::move(allocator));
    auto connection = std::make_shared<NegotiatedConnection>(
        inner_, shared,
        [self = shared_from_this(), shared](absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>> endpoint) {
          if (endpoint.ok()) self->on_accept_(*std::move(endpoint), shared.Share());
        },
        std::nullopt);
    connection->Conduct(std::make_unique<ServerNegotiation>(options_, *connection, Runtime::Get().state()),
                        Path::Role::kServer, features_);
    // A server has nobody else to tell.
    if (!options_.ok()) Log(Severity::kError, absl::StrCat("skein: ", options_.status().message()));
    if (Note(connection)) connection->Begin(std::move(tcp));
  }
  void Close() {
    if (mu_lost_.IsLost()) return;
    std::vector<std::weak_ptr<NegotiatedConnection>> under_way;
    {
      MutexLock lock(&mu_);
      closed_ = true;
      under_way = std::move(under_way_);
    }
    for (const auto& weak : under_way) {
      if (const auto connection = weak.lock()) connection->Cancel();
    }
  }
  // There is no listener whose end gRPC would have to hear of.
  void Disown() { on_shutdown_ = nullptr; }
  void ShutDown(absl::Status status) { status_ = std::move(status); }

 private:
  // False: it is closed. Where the lock is lost, nobody cancels the connection.
  bool Note(const std::shared_ptr<NegotiatedConnection>& connection) {
    if (mu_lost_.IsLost()) return true;
    MutexLock lock(&mu_);
    if (closed_) return false;
    std::erase_if(under_way_, [](const auto& weak) { return weak.expired(); });
    under_way_.push_back(connection);
    return true;
  }

  const uint8_t features_;  // of its connections
  const std::shared_ptr<EventEngine> inner_;
  const absl::StatusOr<Options> options_;
  Listener::AcceptCallback on_accept_;  // by several threads at once, as gRPC's own engine does
  absl::AnyInvocable<void(absl::Status)> on_shutdown_;
  absl::Status status_;  // by the inner engine's last callback
  Mutex mu_;
  LostAtFork mu_lost_{mu_};
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::weak_ptr<NegotiatedConnection>> under_way_ ABSL_GUARDED_BY(mu_);
};

class NegotiatingListener final : public Listener {
 public:
  NegotiatingListener(std::unique_ptr<Listener> inner, std::weak_ptr<Accepts> accepts)
      : inner_(std::move(inner)), accepts_(std::move(accepts)) {}
  ~NegotiatingListener() override {
    // The other way round, a connection could still be accepted behind Close.
    inner_ = nullptr;
    if (const auto accepts = accepts_.lock()) accepts->Close();
  }
  absl::StatusOr<int> Bind(const EventEngine::ResolvedAddress& address) override { return inner_->Bind(address); }
  absl::Status Start() override { return inner_->Start(); }

 private:
  std::unique_ptr<Listener> inner_;
  const std::weak_ptr<Accepts> accepts_;  // gRPC is told although it keeps the listener for longer
};

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> NewListener(
    const std::shared_ptr<EventEngine>& inner, absl::StatusOr<Options> options, Listener::AcceptCallback on_accept,
    absl::AnyInvocable<void(absl::Status)> on_shutdown, const EndpointConfig& config,
    std::unique_ptr<MemoryAllocatorFactory> memory_allocator_factory) {
  auto accepts = std::make_shared<Accepts>(inner, std::move(options), std::move(on_accept), std::move(on_shutdown));
  auto listener = inner->CreateListener(
      [accepts](std::unique_ptr<EventEngine::Endpoint> tcp, MemoryAllocator allocator) {
        accepts->Accept(std::move(tcp), std::move(allocator));
      },
      [accepts](absl::Status status) { accepts->ShutDown(std::move(status)); }, config,
      std::move(memory_allocator_factory));
  if (!listener.ok()) {
    accepts->Disown();
    return listener.status();
  }
  return std::make_unique<NegotiatingListener>(*std::move(listener), accepts);
}

}  // namespace skein::grpc_transport
