// A connection of an EventEngine's about which ends negotiate, before gRPC hears of it.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_NEGOTIATED_CONNECTION_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_NEGOTIATED_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "grpc_transport/common/negotiation.h"
#include "grpc_transport/event_engine/engine_types.h"
#include "grpc_transport/event_engine/link_poller.h"
#include "grpc_transport/event_engine/shared_allocator.h"
#include "grpc_transport/event_engine/tcp_reader.h"

namespace skein::grpc_transport {

// Lock: mu (Connection's), under which the inner engine is called; that engine never calls back from within a call.
// Everything that is out (a read, a write, a timer, a connection being made, a callback on its way) keeps this object.
class NegotiatedConnection final : public Connection, public std::enable_shared_from_this<NegotiatedConnection> {
 public:
  // Called by the inner engine, once, unless Cancel came before.
  using OnEnd = absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>>)>;

  // Makes the connection that follows one that was dropped: as EventEngine::Connect, on the inner engine.
  using ConnectAgain = absl::AnyInvocable<EventEngine::ConnectionHandle(EventEngine::OnConnectCallback)>;

  // Of a client's, `secure` says what its channel's arguments say; of a server's, the first byte tells. `prevented`:
  // why the peer must not be asked; kNone if it may.
  NegotiatedConnection(std::shared_ptr<EventEngine> inner, SharedAllocator allocator, OnEnd on_end,
                       std::optional<bool> secure, Fallback prevented = {});

  // Before anything else. `features`: what is offered, or granted (Connection::Features).
  void Conduct(std::unique_ptr<Negotiation> negotiation, Path::Role role, uint8_t features) {
    negotiation_ = std::move(negotiation);
    role_ = role;
    features_ = features;
  }
  // A client's: `connect` makes its first connection, and a second one if it takes that.
  void Connect(ConnectAgain connect) ABSL_LOCKS_EXCLUDED(mu);
  // A server's: it has been made.
  void Begin(std::unique_ptr<EventEngine::Endpoint> tcp) ABSL_LOCKS_EXCLUDED(mu);
  // True: OnEnd will not be called. False: it is on its way, or has been.
  bool Cancel() ABSL_LOCKS_EXCLUDED(mu);

 private:
  void Read() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool WithdrawRead() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return reader_->Withdraw(); }
  void TakeRead() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Write(absl::string_view bytes) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void StartTimer(absl::Duration duration) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void AwaitReached(stream::Stream& stream) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Status Reconnect() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  bool CancelReconnect() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Finish(Negotiated end) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  std::string Received(size_t max_bytes) const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  size_t ReceivedBytes() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return received_.Length(); }
  void DropReceived(size_t bytes) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  connect::Route RouteNow() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return route_; }
  std::string Local() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return local_; }
  std::string Peer() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return peer_; }
  bool Secure() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return secure_.value_or(false); }
  bool IsMade() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return tcp_ != nullptr; }
  bool HasEnded() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return reader_->HasEnded(); }
  uint8_t Features() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return features_; }
  Fallback Prevented() const override { return prevented_; }
  void WatchLinks() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  enum class Phase { kConnecting, kNegotiating, kReconnecting, kOver };

  void UseConnection(std::unique_ptr<EventEngine::Endpoint> tcp) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void StartConnecting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Connected(absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>> tcp) ABSL_LOCKS_EXCLUDED(mu);
  std::unique_ptr<EventEngine::Endpoint> EndpointOf(Negotiated end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // The endpoint, for its end outside the lock.
  std::unique_ptr<EventEngine::Endpoint> LetGoOfTcp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void End(absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>> result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  const std::shared_ptr<EventEngine> inner_;
  const SharedAllocator allocator_;
  const Fallback prevented_;
  std::unique_ptr<Negotiation> negotiation_;
  Path::Role role_ = Path::Role::kClient;
  uint8_t features_ = 0;

  Phase phase_ ABSL_GUARDED_BY(mu) = Phase::kConnecting;
  OnEnd on_end_ ABSL_GUARDED_BY(mu);  // empty: called, or cancelled
  ConnectAgain connect_ ABSL_GUARDED_BY(mu);
  std::optional<EventEngine::ConnectionHandle> connecting_ ABSL_GUARDED_BY(mu);
  std::unique_ptr<EventEngine::Endpoint> tcp_ ABSL_GUARDED_BY(mu);
  std::shared_ptr<TcpReader> reader_ ABSL_GUARDED_BY(mu);
  SliceBuffer received_;  // guarded by mu
  SliceBuffer outgoing_;  // the endpoint's while a write is out
  std::optional<bool> secure_ ABSL_GUARDED_BY(mu);
  connect::Route route_ ABSL_GUARDED_BY(mu);
  std::string local_ ABSL_GUARDED_BY(mu);
  std::string peer_ ABSL_GUARDED_BY(mu);
  std::unique_ptr<LinkPoller::User> user_ ABSL_GUARDED_BY(mu);
  std::optional<EventEngine::TaskHandle> timer_ ABSL_GUARDED_BY(mu);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_NEGOTIATED_CONNECTION_H_
