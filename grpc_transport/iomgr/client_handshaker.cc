#include "grpc_transport/iomgr/client_handshaker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/forked.h"
#include "core/stream/own_process.h"
#include "grpc_transport/common/offer_bytes.h"
#include "grpc_transport/iomgr/ensure_exec_ctx.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {

ClientHandshaker::ClientHandshaker(absl::StatusOr<Options> options, const grpc_core::ChannelArgs& factory_args,
                                   grpc_pollset_set* interested_parties)
    : Handshaker(Path::Role::kClient, std::move(options)),
      address_(factory_args.GetOwnedString(GRPC_ARG_TCP_HANDSHAKER_RESOLVED_ADDRESS).value_or("")),
      behind_proxy_(factory_args.Contains(GRPC_ARG_HTTP_CONNECT_SERVER)),
      interested_parties_(interested_parties) {
  GRPC_CLOSURE_INIT(&on_reconnected_, OnReconnected, this, nullptr);
}

void ClientHandshaker::Begin() {
  secure_ = secure();
  if (const Fallback why = PreventedHere(); why.code != FallbackCode::kNone) return FinishWithTcp(why);
  WatchLinks();
  if (const absl::Status status = MakeOffer(); !status.ok()) return FinishWithTcp(FallbackOf(status));
  Write(secure_ ? Frame(attempt_->offer()) : HideInHttp2(attempt_->offer()));
}

Fallback ClientHandshaker::PreventedHere() {
  if (InForkedChild()) return stream::WhyNotForked();
  if (behind_proxy_) return {FallbackCode::kProxy, {}};
  if (Fallback why = Prevented(); why.code != FallbackCode::kNone) return why;
  // Who requires Skein wants it as soon as the peer has it.
  if (options().mode != Mode::kRequire && runtime().plain_peers().Contains(address_, SteadyNow()))
    return {FallbackCode::kNegativeCache, {}};
  return {};
}

absl::Status ClientHandshaker::MakeOffer() {
  absl::StatusOr<std::unique_ptr<stream::Connector::Attempt>> attempt = streams().connector->Begin(route(), features());
  if (!attempt.ok()) return attempt.status();
  attempt_ = *std::move(attempt);
  return absl::OkStatus();
}

// Now there is a connection, which gRPC may have taken for made before (stream::RouteOf), and somebody to wait for.
void ClientHandshaker::OnWritten() {
  asked_ = true;
  StartTimer();
  Read();
}

void ClientHandshaker::OnBytes() {
  const Parsed parsed = ParseFrame(received(kMaxFrameBytes), stream::kMaxAnswerBytes);
  switch (parsed.beginning) {
    case Beginning::kUndecided:
      return Read();
    case Beginning::kMalformed:  // or of a version to come
      return Reconnect({FallbackCode::kProtocol, "the answer is malformed"}, Remember::kNo);
    case Beginning::kOther: {
      Fallback why{FallbackCode::kPeerNotSkein, {}};
      if (secure_) return Reconnect(std::move(why), Remember::kPeerIsPlain);
      return FinishWithTcp(why, /*preface_sent=*/true);
    }
    case Beginning::kWhole:
      DropReceived(parsed.size);
      return OnAnswer(parsed.payload);
  }
}

void ClientHandshaker::OnAnswer(absl::string_view answer) {
  stream::Outcome outcome = attempt_->Complete(answer);
  if (outcome.stream == nullptr) {
    // Whether the peer said no, or said yes and this side cannot: only in the first case does it go on with TCP here.
    if (outcome.both_know) return FinishWithTcp(outcome.why, /*preface_sent=*/!secure_);
    return Reconnect(std::move(outcome.why), Remember::kNo);
  }
  if (received_bytes() > 0) return Fail(Unavailable("skein: the peer wrote more than its answer"));
  if (outcome.reached) return FinishWithStream(std::move(outcome));
  outcome_ = std::move(outcome);
  TryOut();
}

void ClientHandshaker::TryOut() {
  Wait();
  if (outcome_.stream == nullptr) return;  // the time was up already
  tried_out_ = true;
  outcome_.stream->WhenReached([self = Ref()](const absl::Status& status) {
    EnsureExecCtx exec_ctx;
    grpc_closure* then = grpc_core::NewClosure([self, status](const grpc_error_handle&) {
      auto* const client = static_cast<ClientHandshaker*>(self.get());
      MutexLock lock(&client->mu_);
      if (client->EndWaiting()) client->OnReached(status);
    });
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, then, absl::OkStatus());
  });
}

void ClientHandshaker::OnReached(const absl::Status& status) {
  if (!status.ok()) return OnUnreachable(status.message());
  FinishWithStream(std::move(outcome_));
}

void ClientHandshaker::OnUnreachable(absl::string_view why) {
  const std::string kind = stream::FabricKind(outcome_.stream->path());
  outcome_ = {};
  attempt_ = nullptr;
  // Whoever has died tells nothing of the path.
  const bool tcp_is_well = !stream::HasEnded(grpc_endpoint_get_fd(args().endpoint));
  if (options().mode != Mode::kRequire && tried_out_ && tcp_is_well) streams().fabrics->Failed(route(), kind);
  Reconnect({FallbackCode::kNoRoute, std::string(why)}, Remember::kNo);
}

// Some servers drop who offers: TLS servers without Skein, and whoever minds unknown settings.
void ClientHandshaker::OnLost(const grpc_error_handle& error) {
  if (is_shut_down() || !asked_) return Fail(error);
  Reconnect({FallbackCode::kPeerNotSkein, {}}, secure_ ? Remember::kPeerIsPlain : Remember::kNo);
}

void ClientHandshaker::OnTimeout() {
  if (outcome_.stream != nullptr) return OnUnreachable("nothing arrived in time");
  // Not on this connection: the answer may still come, and would be taken for HTTP/2.
  Reconnect({FallbackCode::kTimeout, {}}, secure_ ? Remember::kPeerIsPlain : Remember::kNo);
}

void ClientHandshaker::Reconnect(Fallback why, Remember remember) {
  if (is_shut_down()) return Fail(Unavailable("shut down during the negotiation"));
  if (options().mode == Mode::kRequire) return FinishWithTcp(why);  // which fails, and says why
  const absl::StatusOr<grpc_core::URI> uri = grpc_core::URI::Parse(address_);
  grpc_resolved_address address;
  const bool parsed = uri.ok() && grpc_parse_uri(*uri, &address);
  why_ = std::move(why);
  remember_ = remember;
  attempt_ = nullptr;
  DropConnection(Unavailable("skein: the peer does not take offers"));
  if (!parsed) return Fail(Unavailable(absl::StrCat("skein: no address to come back to: ", address_)));
  Ref().release();
  connecting_ = grpc_tcp_client_connect(&on_reconnected_, &connected_, interested_parties_,
                                        grpc_event_engine::experimental::ChannelArgsEndpointConfig(args().args),
                                        &address, args().deadline);
}

void ClientHandshaker::OnReconnected(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<ClientHandshaker> self(static_cast<ClientHandshaker*>(arg));
  MutexLock lock(&self->mu_);
  self->connecting_.reset();
  if (self->connected_ != nullptr) self->UseConnection(std::exchange(self->connected_, nullptr));
  if (!error.ok()) return self->Fail(std::move(error));
  if (self->is_shut_down()) return self->Fail(Unavailable("shut down while reconnecting"));
  grpc_endpoint_add_to_pollset_set(self->args().endpoint, self->interested_parties_);
  // Who takes no connection at all is none of those that do not speak Skein.
  const bool stands = stream::IsConnected(grpc_endpoint_get_fd(self->args().endpoint));
  if (stands && self->remember_ == Remember::kPeerIsPlain) {
    const absl::Time now = SteadyNow();
    self->runtime().plain_peers().Add(self->address_, now + self->options().negative_cache, now);
  }
  self->FinishWithTcp(self->why_);
}

void ClientHandshaker::OnShutdown() {
  if (EndWaiting()) {
    outcome_ = {};
    attempt_ = nullptr;
    return Fail(Unavailable("shut down during the negotiation"));
  }
  if (!connecting_.has_value() || !grpc_tcp_client_cancel_connect(*connecting_)) return;
  connecting_.reset();
  Unref();  // the connection's, whose callback will not come
  Fail(Unavailable("shut down while reconnecting"));
}

}  // namespace skein::grpc_transport
